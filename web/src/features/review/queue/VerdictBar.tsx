/** The verdicts on a case as buttons, and what still stands in the way of approving it. */
import { Button } from "@mantine/core";
import type { Case, Saying } from "./data";
import classes from "./desk.module.css";

type VerdictBarProps = { entry: Case; decided: boolean; missing: string[]; onSay: (saying: Saying) => void };

export const CORRECTION: Saying = { verdict: "approve", changes: { entry_type: "correction" } };

/** Whether the case can be saved as a correction: a chat with an expected answer that is not one already. */
export function mayCorrect(entry: Case): boolean {
  return entry.kind === "chat" && entry.entry_type !== "correction" && Boolean(entry.expected?.trim());
}

export function VerdictBar({ entry, decided, missing, onSay }: VerdictBarProps) {
  return (
    <footer className={classes.verdicts}>
      <Button disabled={missing.length > 0} aria-describedby="lacking" onClick={() => onSay({ verdict: "approve" })}>
        {entry.kind === "chat" && entry.entry_type === "golden" ? "Confirm" : "Approve"}
      </Button>
      {entry.kind === "chat" && entry.entry_type !== "correction" && (
        <Button variant="default" disabled={!mayCorrect(entry)} onClick={() => onSay(CORRECTION)}>
          Save as correction
        </Button>
      )}
      <Button variant="default" onClick={() => onSay({ verdict: "dismiss" })}>
        Dismiss
      </Button>
      <Button variant="default" onClick={() => onSay({ verdict: "second_opinion" })}>
        Second opinion
      </Button>
      {decided ? (
        <Button variant="default" onClick={() => onSay({ verdict: "reopen" })}>
          Reopen
        </Button>
      ) : (
        <Button variant="subtle" onClick={() => onSay({ verdict: "skip" })}>
          Skip
        </Button>
      )}
      <span id="lacking" className={classes.lacking} aria-live="polite">
        {missing.length > 0 && `${missing.join(", ")} missing`}
      </span>
    </footer>
  );
}
