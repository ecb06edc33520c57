/** How much of the period's traffic has a case in each dataset. */
import { Link } from "@tanstack/react-router";
import { count, plural, share } from "@/ui/format";
import type { Overview } from "./data";
import classes from "./overview.module.css";

type CoveragePanelProps = { coverage: Overview["coverage"]; inPeriod: number };

export function CoveragePanel({ coverage, inPeriod }: CoveragePanelProps) {
  if (coverage.length === 0) {
    return (
      <p className={classes.calm}>
        No dataset has a case yet. Traces become cases by <Link to="/rules">the rules in force</Link>, or by hand: open
        a trace and make a case of it.
      </p>
    );
  }
  return (
    <ul className={classes.bars}>
      {coverage.map((part) => (
        <li key={part.dataset} className={classes.bar}>
          <span className={classes.barName}>
            <Link to="/cases" search={{ dataset: part.dataset }} className="eg-clip">
              {part.dataset}
            </Link>
            <span className="eg-dim">{plural(part.cases, "case")}</span>
          </span>
          <span className={classes.barTrack}>
            <span
              className={classes.barFill}
              style={{ width: inPeriod ? `${Math.min(100, (100 * part.traces) / inPeriod)}%` : 0 }}
            />
          </span>
          <span className={classes.barValue}>
            {share(part.traces, inPeriod)} <span className="eg-dim">· {count(part.traces)} traces</span>
          </span>
        </li>
      ))}
    </ul>
  );
}
