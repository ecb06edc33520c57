/** What keeps traces out of the golden set, with numbers and what to change. */
import { Link } from "@tanstack/react-router";
import { count, share } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import { useKeptOut } from "./data";
import classes from "./overview.module.css";
import type { Period } from "./view";

export function KeptOutPanel({ period }: { period: Period }) {
  const seen = useKeptOut(period);
  if (seen.isPending) return <Loading what="reasons" rows={3} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const { reasons, traces, most } = seen.data;
  if (reasons.length === 0) return <p className={classes.calm}>Nothing: every trace of this period is a case.</p>;
  return (
    <>
      <ul className={classes.bars}>
        {reasons.map((each) => (
          <li key={each.reason} className={classes.bar}>
            <span className={classes.barName}>{each.reason}</span>
            <span className={classes.barTrack}>
              <span className={classes.barFill} style={{ width: `${(100 * each.traces) / Math.max(1, traces)}%` }} />
            </span>
            <span className={classes.barValue}>
              {count(each.traces)} <span className="eg-dim">· {share(each.traces, traces)}</span>
            </span>
            <span className={classes.change}>
              {Object.entries(each.scores ?? {}).map(([name, number]) => `${name} ${count(number)} · `)}
              To change it: {each.change}
            </span>
          </li>
        ))}
      </ul>
      <p className={classes.calm}>
        By {seen.data.policy}, {traces >= most ? `the newest ${count(most)} traces` : "all traces of the period"}.{" "}
        <Link to="/traces">Look at traces</Link>
      </p>
    </>
  );
}
