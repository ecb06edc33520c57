/** Every change of the rules, newest first; any earlier state can be put back. */
import { Button } from "@mantine/core";
import { moment } from "@/ui/format";
import type { Rules, RulesChange, RulesView } from "./data";
import classes from "./rules.module.css";

type HistoryProps = {
  view: RulesView;
  mayEdit: boolean;
  busy: boolean;
  onRestore: (rules: Rules, why: string) => void;
};

export function History({ view, mayEdit, busy, onRestore }: HistoryProps) {
  const editable = mayEdit && view.policy_set_by === "" && view.checks_set_by === "";
  return (
    <ol className={classes.history}>
      {view.history.map((change) => (
        <li key={change.number}>
          <div>
            <b>{change.number === 0 ? "As the workspace began" : `Change ${change.number}`}</b>
            {change.number > 0 && (
              <span className="eg-dim">
                {" "}
                by {change.who}, {moment(change.created_at)}
              </span>
            )}
            {change.why && <div>{change.why}</div>}
          </div>
          {change.number === view.number ? (
            <span className="eg-dim">in force</span>
          ) : (
            editable && (
              <Button
                variant="default"
                size="xs"
                disabled={busy}
                aria-label={`Go back to ${nameOf(change)}`}
                onClick={() => onRestore(change.rules, `back to ${nameOf(change)}`)}
              >
                Go back
              </Button>
            )
          )}
        </li>
      ))}
    </ol>
  );
}

function nameOf(change: RulesChange): string {
  return change.number === 0 ? "the beginning" : `change ${change.number}`;
}
