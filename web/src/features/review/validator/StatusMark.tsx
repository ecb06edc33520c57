/** The mark of a case's state: a shape as well as a colour, so that it reads without colour. */
import classes from "./list.module.css";
import type { Status } from "./navigation";

const SHOWN: Record<Status, { sign: string; words: string }> = {
  validated: { sign: "✓", words: "validated" },
  ready: { sign: "○", words: "complete, not validated" },
  incomplete: { sign: "!", words: "incomplete" },
};

export function StatusMark({ status }: { status: Status }) {
  const { sign, words } = SHOWN[status];
  return (
    <span className={classes.mark} data-status={status}>
      <span aria-hidden="true">{sign}</span>
      <span className="eg-visually-hidden">{words}</span>
    </span>
  );
}
