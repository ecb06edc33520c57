/** Changes to many cases at once, each with the way back. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas, unwrap } from "@/api/client";
import { reviewerName } from "@/api/reviewer";
import { plural } from "@/ui/format";

export type Key = { dataset: string; id: string };
type Change = Schemas["CaseChange"];
type Wanted = { addTags?: string[]; dataset?: string; status?: Change["status"] };
type Outcome = { message: string; undo: readonly Change[] };

const headers = () => ({ "x-evergold-reviewer": reviewerName() });
const send = (body: Change) => unwrap(api.POST("/api/v1/cases/changes", { headers: headers(), body }));

export function useCaseChanges() {
  const client = useQueryClient();
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [busy, setBusy] = useState(false);

  /** Does the work and shows its outcome; gives whether it succeeded. */
  async function act(work: () => Promise<Outcome>): Promise<boolean> {
    setBusy(true);
    try {
      setOutcome(await work());
      return true;
    } catch (error) {
      setOutcome({ message: error instanceof Error ? error.message : String(error), undo: [] });
      return false;
    } finally {
      setBusy(false);
      void client.invalidateQueries();
    }
  }

  const change = (cases: readonly Key[], { addTags = [], dataset, status }: Wanted) =>
    act(async () => {
      const body = { cases: [...cases], add_tags: addTags, remove_tags: [], dataset, status };
      const done = await send(body);
      const problems = (done.problems ?? []).join("; ");
      return { message: `Changed ${plural(done.cases.length, "case")}. ${problems}`, undo: done.undo ?? [] };
    });

  /** Merges the chosen cases into the first of them. */
  const merge = ([kept, ...others]: readonly Key[]) =>
    act(async () => {
      const repeats_of = kept && { dataset: kept.dataset, id: kept.id };
      const done = await send({ cases: others, add_tags: [], remove_tags: [], repeats_of });
      const problems = (done.problems ?? []).join("; ");
      return { message: `Merged ${plural(done.cases.length, "repeat")}. ${problems}`, undo: done.undo ?? [] };
    });

  const undo = () =>
    act(async () => {
      for (const step of outcome?.undo ?? []) await send(step);
      return { message: "Taken back.", undo: [] };
    });

  return { change, merge, undo, busy, message: outcome?.message ?? "", undoable: (outcome?.undo.length ?? 0) > 0 };
}

export const createCase = (body: Schemas["NewCase"]) => unwrap(api.POST("/api/v1/cases", { headers: headers(), body }));
