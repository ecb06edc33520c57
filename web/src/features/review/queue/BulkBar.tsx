/** One verdict on every chosen case, with an undo. What could not be done is listed. */
import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { assign, type QueueItem, sayMany, useRefresh, type Verdict } from "./data";
import classes from "./queue.module.css";

type BulkBarProps = { items: QueueItem[]; onDone: () => void };
type Done = { verdict: Verdict; cases: { dataset: string; id: string; version: number }[]; errors: string[] };

export function BulkBar({ items, onDone }: BulkBarProps) {
  const [done, setDone] = useState<Done | null>(null);
  const [reviewer, setReviewer] = useState("");
  const refresh = useRefresh();

  async function say(verdict: Verdict) {
    const results = await sayMany(items, verdict);
    setDone({
      verdict,
      cases: results.filter((result) => result.error === null),
      errors: results.flatMap((result) => (result.error === null ? [] : [result.error as string])),
    });
    onDone();
    await refresh();
  }

  async function undo() {
    if (done === null) return;
    await sayMany(done.cases, "withdraw");
    setDone(null);
    await refresh();
  }

  if (items.length === 0 && done === null) return null;
  return (
    <div className={classes.bulk} role="status">
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
              void assign(items, reviewer.trim()).then(onDone).then(refresh);
            }}
          >
            <TextInput
              size="xs"
              aria-label="Assign to"
              placeholder="Assign to…"
              value={reviewer}
              onChange={(event) => setReviewer(event.currentTarget.value)}
            />
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
