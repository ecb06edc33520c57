/** How often reviewers left what a rule decided as it was. */
import { count, share } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import { useAgreement } from "./data";
import classes from "./overview.module.css";

const SHOWN = 6;

export function AgreementPanel() {
  const seen = useAgreement();
  if (seen.isPending) return <Loading what="agreement" rows={3} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const { reviewed, disagreed, rules, checks } = seen.data;
  if (reviewed === 0)
    return (
      <p className={classes.calm}>Nobody has reviewed a case that a policy made. Review says how far to trust it.</p>
    );
  const rows = [
    ...rules.map((each) => ({ ...each, kind: "rule" })),
    ...checks.map((each) => ({ ...each, kind: "score" })),
  ].slice(0, SHOWN);
  return (
    <>
      <p className={classes.calm}>
        People disagreed with {count(disagreed)} of {count(reviewed)} decisions.
      </p>
      <ul className={classes.bars}>
        {rows.map((each) => (
          <li key={`${each.kind} ${each.name} ${each.verdict}`} className={classes.bar}>
            <span className={classes.barName}>
              <span>{each.name}</span>
              <span className="eg-dim">
                {each.kind} → {each.verdict}
              </span>
            </span>
            <span className={classes.barTrack}>
              <span
                className={classes.barFill}
                data-tone="rust"
                style={{ width: `${(100 * (each.agreed.of - each.agreed.hits)) / Math.max(1, each.agreed.of)}%` }}
              />
            </span>
            <span className={classes.barValue}>
              {count(each.agreed.of - each.agreed.hits)}{" "}
              <span className="eg-dim">
                of {count(each.agreed.of)} · {share(each.agreed.of - each.agreed.hits, each.agreed.of)}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
