/** The verdicts given in this sitting, and how each is taken back. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Case, type CaseFile, type Changes, type Key, type Saying, sayVerdict, useRefresh } from "./data";

export type Said = { before: CaseFile; after: Case; saying: Saying };

const WORDS: Record<Saying["verdict"], string> = {
  approve: "Approved",
  dismiss: "Dismissed",
  second_opinion: "A second opinion is asked for on",
  skip: "Skipped",
  reopen: "Reopened",
  withdraw: "Taken back on",
};

export function useUndo(me: string, onUndone: (key: Key) => void) {
  const [said, setSaid] = useState<readonly Said[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const refresh = useRefresh();
  const queries = useQueryClient();
  const last = said.at(-1);

  async function undo() {
    if (last === undefined) return;
    const key = { dataset: last.after.dataset, id: last.after.id };
    try {
      await sayVerdict(key, last.after.version, takingBack(last, me));
      // The desk opens on what the undo left: a verdict on the version before it would be refused as a conflict.
      await queries.refetchQueries({ queryKey: ["review", "case", key.dataset, key.id] });
      setSaid(said.slice(0, -1));
      setProblem(null);
      onUndone(key);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    await refresh();
  }

  return {
    add: (one: Said) => {
      setSaid([...said, one]);
      setProblem(null);
    },
    undo,
    problem,
    message: last === undefined ? null : `${WORDS[last.saying.verdict]} ${last.after.id}.`,
  };
}

/** What undoes a verdict: my word before it where there was one, else its withdrawal; edits that came with it go back. */
export function takingBack({ before, saying }: Said, me: string): Saying {
  const fields = Object.keys(saying.changes ?? {}) as (keyof Case)[];
  const changes: Changes = Object.fromEntries(fields.map((field) => [field, before.case[field] ?? null]));
  const mine = before.opinions.filter(({ reviewer, verdict }) => reviewer === me && verdict !== "skip").at(-1);
  const again = saying.verdict !== "reopen" && (mine?.verdict === "approve" || mine?.verdict === "dismiss");
  return { verdict: again ? mine.verdict : "withdraw", changes, adjudicate: again && mine.adjudicate };
}
