/** The checks that fail most often, with the share of the times they were made. */
import { count, share } from "@/ui/format";
import type { Overview } from "./data";
import classes from "./overview.module.css";

const WHOSE: Record<string, string> = { user: "user", human: "reviewer", llm_judge: "model judge" };

export function ChecksPanel({ checks }: { checks: Overview["checks"] }) {
  if (checks.length === 0)
    return <p className={classes.calm}>No score of this period is below the failure threshold.</p>;
  return (
    <ul className={classes.bars}>
      {checks.map((check) => (
        <li key={`${check.source} ${check.name}`} className={classes.bar}>
          <span className={classes.barName}>
            <span className="eg-clip">{check.name}</span>
            {WHOSE[check.source] && <span className="eg-dim">{WHOSE[check.source]}</span>}
          </span>
          <span className={classes.barTrack}>
            <span
              className={classes.barFill}
              data-tone="rust"
              style={{ width: `${(100 * check.failing) / check.scored}%` }}
            />
          </span>
          <span className={classes.barValue}>
            {count(check.failing)}{" "}
            <span className="eg-dim">
              of {count(check.scored)} · {share(check.failing, check.scored)}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
