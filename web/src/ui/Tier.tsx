/** What a case is worth at a glance. Shape and word carry it, colour only helps. */
import classes from "./Tier.module.css";

export type TierName = "confirmed" | "candidate" | "failure" | "correction" | "none";

const LABEL: Record<TierName, string> = {
  confirmed: "Golden",
  candidate: "Candidate",
  failure: "Failure",
  correction: "Correction",
  none: "Not curated",
};

type CaseLike = { entry_type?: string; kind?: string; status?: string; metadata?: Record<string, unknown> };

function tierOf(entry: CaseLike): TierName {
  if (entry.entry_type === "failure") return "failure";
  if (entry.entry_type === "correction") return "correction";
  return entry.metadata?.confirmed === true ? "confirmed" : "candidate";
}

/** The worth of a case. Only a live chat is a candidate until somebody confirms it; other kinds are golden by their source. */
export function CaseTier({ entry }: { entry: CaseLike }) {
  const tier = tierOf(entry);
  const label = tier === "candidate" && entry.kind !== "chat" ? "Golden" : undefined;
  return <Tier tier={tier} label={label} faded={entry.status !== "active"} />;
}

export function Tier({ tier, label, faded = false }: { tier: TierName; label?: string; faded?: boolean }) {
  return (
    <span className={classes.tier} data-tier={tier} data-faded={faded || undefined}>
      <span className={classes.mark} aria-hidden="true" />
      {label ?? LABEL[tier]}
    </span>
  );
}
