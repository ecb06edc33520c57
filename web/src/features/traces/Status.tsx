import classes from "./traces.module.css";

const WORD: Record<string, string> = { completed: "Completed", failed: "Failed", started: "Running" };

export function Status({ status }: { status: string }) {
  return (
    <span className={classes.status} data-status={status}>
      {WORD[status] ?? status}
    </span>
  );
}
