/** Replays of a case for its reviewer: which runs played it, and one of them beside the record. */
import { Select } from "@mantine/core";
import { useState } from "react";
import { moment } from "@/ui/format";
import { type CaseReplay, useReplaysOfCase } from "./data";
import classes from "./replay.module.css";
import { TrajectoryBesideRecord } from "./TrajectoryBesideRecord";

export function CaseReplays({ dataset, caseId }: { dataset: string; caseId: string }) {
  const replays = useReplaysOfCase(dataset, caseId);
  const [chosen, setChosen] = useState<string | null>(null);
  const [newest] = replays.data ?? [];
  if (!newest) return null; // most cases were never replayed
  const shown = replays.data?.find((one) => keyOf(one) === chosen) ?? newest;
  return (
    <section className={classes.replays} aria-label="Replays of this case">
      <Select
        label="Replay"
        allowDeselect={false}
        data={(replays.data ?? []).map((one) => ({ value: keyOf(one), label: inWords(one) }))}
        value={keyOf(shown)}
        onChange={setChosen}
      />
      <TrajectoryBesideRecord runId={shown.run_id} caseId={shown.case_id} trial={shown.trial} />
    </section>
  );
}

const keyOf = (one: CaseReplay) => `${one.run_id} ${one.case_id} ${one.trial}`;

function inWords(one: CaseReplay): string {
  const turn = one.case_id.match(/#turn-(\d+)$/)?.[1];
  const parts = [
    one.model,
    turn && `turn ${turn}`,
    one.trial > 0 && `attempt ${one.trial + 1}`,
    typeof one.value === "number" && `trajectory ${one.value.toFixed(3)}`,
    moment(one.created_at),
  ];
  return parts.filter(Boolean).join(" · ");
}
