/** What keeps traces out of the golden set, with numbers, each with a link to what changes it. */
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMay } from "@/api/access";
import { count, share } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import { type Reason, useCheckNow, useKeptOut } from "./data";
import classes from "./overview.module.css";
import type { Period } from "./view";

export function KeptOutPanel({ period }: { period: Period }) {
  const seen = useKeptOut(period);
  if (seen.isPending) return <Loading what="reasons" rows={3} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const { reasons, traces, most } = seen.data;
  if (reasons.length === 0)
    return (
      <p className={classes.calm}>
        Nothing: every trace of this period is a case, by <Link to="/rules">the rules in force</Link>.
      </p>
    );
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
              {Object.entries(each.scores ?? {}).map(([name, number]) => (
                <span key={name}>
                  <Link to="/traces" search={{ score: [`${name}<1`] }}>
                    {name}
                  </Link>{" "}
                  {count(number)} ·{" "}
                </span>
              ))}
              <Change reason={each} />
            </span>
          </li>
        ))}
      </ul>
      <p className={classes.calm}>
        By <Link to="/rules">the rules in force</Link> ({seen.data.policy}),{" "}
        {traces >= most ? `the newest ${count(most)} traces` : "all traces of the period"}.{" "}
        <Link to="/traces">Look at traces</Link>
      </p>
    </>
  );
}

/** The link or button that changes a reason; the server says which. */
function Change({ reason }: { reason: Reason }) {
  const mayEdit = useMay("editor");
  const checkNow = useCheckNow();
  const says = reason.change.charAt(0).toUpperCase() + reason.change.slice(1);
  if (reason.remedy === "check_now")
    return mayEdit ? (
      <Button variant="default" size="compact-xs" loading={checkNow.isPending} onClick={() => checkNow.mutate()}>
        {says}
      </Button>
    ) : (
      says
    );
  if (reason.remedy === "failed_traces")
    return (
      <Link to="/traces" search={{ status: "failed" }}>
        {says}
      </Link>
    );
  if (reason.remedy === "traces") return <Link to="/traces">{says}</Link>;
  return (
    <Link to="/rules" search={reason.remedy === "eligible" ? {} : { part: reason.remedy }}>
      {says}
    </Link>
  );
}
