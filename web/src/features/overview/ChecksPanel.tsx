/** The checks that fail most often, with the share of the times they were made; each leads to its failing traces. */
import { Link } from "@tanstack/react-router";
import { localMinute } from "@/ui/address";
import { count, share } from "@/ui/format";
import type { Overview } from "./data";
import classes from "./overview.module.css";

const WHOSE: Record<string, string> = { user: "user", human: "reviewer", llm_judge: "model judge" };

type ChecksPanelProps = { checks: Overview["checks"]; since: string };

export function ChecksPanel({ checks, since }: ChecksPanelProps) {
  if (checks.length === 0)
    return <p className={classes.calm}>No score of this period is below the failure threshold.</p>;
  return (
    <ul className={classes.bars}>
      {checks.map((check) => (
        <li key={`${check.source} ${check.name}`} className={classes.bar}>
          <span className={classes.barName}>
            <Link
              to="/traces"
              search={{ since: localMinute(since), score: [`${prefix(check.source)}${check.name}<0.3`] }}
              className="eg-clip"
            >
              {check.name}
            </Link>
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

/** The source as a condition on scores names it: those of the system need no name. */
function prefix(source: string): string {
  return source === "system" ? "" : `${source}:`;
}
