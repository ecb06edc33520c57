/** Why a reference may no longer hold: what it rests on as it was and as it is now, and what a person makes of it. */
import { Button, Group, Textarea } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { referenceText } from "@/ui/cases";
import { holdKeys } from "@/ui/shortcuts";
import { Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import { type CaseFile, settleStale, useRefresh, useStaleReasons } from "./data";
import classes from "./queue.module.css";

/** `waiting`: the case has changes that are not stored yet. */
type StaleReasonsProps = { file: CaseFile; waiting: boolean; locked: boolean; onSettled: () => Promise<boolean> };

export function StaleReasons({ file, waiting, locked, onSettled }: StaleReasonsProps) {
  const key = { dataset: file.case.dataset, id: file.case.id };
  const reasons = useStaleReasons(key);
  const [answer, setAnswer] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const refresh = useRefresh();

  async function settle(decision: Schemas["StaleDecision"]) {
    const release = holdKeys();
    try {
      await settleStale(key, decision);
      await onSettled();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    release();
    await refresh();
  }

  return (
    <section className={classes.stale} aria-label="May be stale">
      <h3>Does the reference still hold?</h3>
      {reasons.isPending && <Loading what="what changed" />}
      {reasons.isError && <Failed error={reasons.error} />}
      {(reasons.data ?? []).map((reason) => (
        <Reason key={`${reason.because} ${reason.was} ${reason.at}`} reason={reason} />
      ))}
      {problem && <p role="alert">{problem}</p>}
      {answer !== null && (
        <Textarea
          dir="auto"
          label="Answer that holds now"
          autosize
          minRows={2}
          maxRows={10}
          autoFocus
          value={answer}
          onChange={(event) => setAnswer(event.currentTarget.value)}
        />
      )}
      <Group gap="xs" mt={6}>
        {answer === null ? (
          <>
            <Choice disabled={waiting || locked} label="Keep" onClick={() => void settle({ action: "keep" })} />
            <Choice disabled={waiting || locked} label="Replace" onClick={() => setAnswer(referenceText(file.case))} />
            <Choice disabled={waiting || locked} label="Retire" onClick={() => void settle({ action: "retire" })} />
          </>
        ) : (
          <>
            <Choice
              disabled={waiting || answer.trim() === ""}
              label="Save the answer"
              onClick={() => void settle({ action: "replace", answer })}
            />
            <Choice disabled={false} label="Cancel" onClick={() => setAnswer(null)} />
          </>
        )}
      </Group>
    </section>
  );
}

function Choice({ label, disabled, onClick }: { label: string; disabled: boolean; onClick: () => void }) {
  return (
    <Button size="compact-sm" variant="default" disabled={disabled} onClick={onClick}>
      {label}
    </Button>
  );
}

function Reason({ reason }: { reason: Schemas["StaleReason"] }) {
  const by = [reason.model, reason.prompt_version && `prompt ${reason.prompt_version}`].filter(Boolean).join(", ");
  return (
    <>
      <p>
        Because {visible(reason.because)}
        {reason.trace_id && (
          <>
            {" · "}
            <Link to="/traces/$traceId" params={{ traceId: reason.trace_id }}>
              Its trace
            </Link>
          </>
        )}
      </p>
      <dl className={classes.sides}>
        <div>
          <dt>Was{by && ` (answered by ${visible(by)})`}</dt>
          <dd dir="auto">{visible(reason.was ?? "deleted")}</dd>
        </div>
        <div>
          <dt>Is now</dt>
          <dd dir="auto">{visible(reason.now ?? "deleted")}</dd>
        </div>
      </dl>
    </>
  );
}
