/** The four kinds of case as numbers that lead to their list, and one bar of their shares of the traffic. */
import { Link } from "@tanstack/react-router";
import { localMinute } from "@/ui/address";
import { count, share } from "@/ui/format";
import { Tier } from "@/ui/Tier";
import type { Overview } from "./data";
import classes from "./overview.module.css";

const TIERS = ["confirmed", "candidate", "failure", "correction"] as const;
const LABEL = {
  confirmed: "Golden, confirmed",
  candidate: "Golden candidates",
  failure: "Failures",
  correction: "Corrections",
};

export function TierStrip({ seen }: { seen: Overview }) {
  return (
    <section className={classes.strip} aria-label="Cases of the period by worth">
      {TIERS.map((tier) => (
        <Link key={tier} to="/cases" search={{ tier }} className={classes.figure}>
          <Tier tier={tier} label={LABEL[tier]} />
          <span className={classes.number}>{count(seen.tiers[tier] ?? 0)}</span>
          <span className={classes.share}>{share(seen.tiers[tier] ?? 0, seen.in_period)} of traces</span>
        </Link>
      ))}
      <Link to="/traces" search={{ since: localMinute(seen.since) }} className={classes.figure}>
        <Tier tier="none" label="Traces" />
        <span className={classes.number}>{count(seen.in_period)}</span>
        <span className={classes.share}>in this period</span>
      </Link>
    </section>
  );
}
