/** One verdict on every chosen case, with an undo. What could not be done is listed. */
import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { useMe } from "@/api/access";
import { assign, type QueueItem, sayMany, useRefresh, type Verdict } from "./data";
import classes from "./list.module.css";

/** The field that the key `i` leads to. */
export const ASSIGN_FIELD = "assign-to";

type BulkBarProps = { items: QueueItem[]; onDone: () => void };
type Done = { verdict: Verdict; cases: { dataset: string; id: string; version: number }[]; errors: string[] };

export function BulkBar({ items, onDone }: BulkBarProps) {
  const [done, setDone] = useState<Done | null>(null);
  const [reviewer, setReviewer] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const me = useMe();
  const refresh = useRefresh();

  /** Does the work, or shows why it could not be done; the choice stays as it was then. */
  async function attempt(work: () => Promise<void>) {
    try {
      await work();
      setProblem(null);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    await refresh();
  }

  const say = (verdict: Verdict) =>
    attempt(async () => {
      const results = await sayMany(items, verdict);
      setDone({
        verdict,
        cases: results.filter((result) => result.error === null),
        errors: results.flatMap((result) => (result.error === null ? [] : [result.error as string])),
      });
      onDone();
    });

  const undo = () =>
    attempt(async () => {
      if (done === null) return;
      await sayMany(done.cases, "withdraw");
      setDone(null);
    });

  const give = (to: string) =>
    attempt(async () => {
      await assign(items, to);
      onDone();
    });

  if (items.length === 0 && done === null) return null;
  return (
    <div className={classes.bulk} role="status">
      {problem && <span role="alert">{problem}</span>}
      {items.length > 0 && (
        <>
          <span>{items.length} chosen</span>
          <Button size="compact-xs" variant="default" onClick={() => void say("approve")}>
            Approve {items.length}
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => void say("dismiss")}>
            Dismiss {items.length}
          </Button>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (reviewer.trim()) void give(reviewer.trim());
            }}
          >
            <TextInput
              id={ASSIGN_FIELD}
              size="xs"
              list="known-reviewers"
              aria-label="Assign to"
              placeholder="Assign to…"
              value={reviewer}
              onChange={(event) => setReviewer(event.currentTarget.value)}
            />
            <datalist id="known-reviewers">
              {(me.data?.reviewers ?? []).map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </form>
        </>
      )}
      {done !== null && (
        <>
          <span>
            {done.cases.length} {done.verdict === "approve" ? "approved" : "dismissed"}
            {done.errors.length > 0 && `, ${done.errors.length} not: ${done.errors[0]}`}
          </span>
          {done.cases.length > 0 && (
            <Button size="compact-xs" variant="default" onClick={() => void undo()}>
              Undo
            </Button>
          )}
          <Button size="compact-xs" variant="subtle" onClick={() => setDone(null)}>
            Close
          </Button>
        </>
      )}
    </div>
  );
}
