/** What the list shows, as it stands in the address bar. Values that are not known are dropped, never sent on. */
import { oneOf, text, withoutBlanks } from "@/ui/address";

export const KINDS = ["chat", "context", "qa", "summary", "task"] as const;
export const TIERS = ["confirmed", "candidate", "failure", "correction"] as const;
export const REVIEWS = ["unvalidated", "validated"] as const;
export const STATUSES = ["active", "withdrawn", "dismissed", "erased"] as const;

export type CaseView = {
  q?: string;
  dataset?: string;
  kind?: (typeof KINDS)[number];
  tier?: (typeof TIERS)[number];
  review?: (typeof REVIEWS)[number];
  status?: (typeof STATUSES)[number];
  tag?: string;
};

export function readCaseView(search: Record<string, unknown>): CaseView {
  return withoutBlanks({
    q: text(search.q),
    dataset: text(search.dataset),
    tag: text(search.tag),
    kind: oneOf(KINDS, search.kind),
    tier: oneOf(TIERS, search.tier),
    review: oneOf(REVIEWS, search.review),
    status: oneOf(STATUSES, search.status),
  });
}

/** The view in the words of the API: a tier is an entry type and whether somebody confirmed it. */
export function asQuery(view: CaseView) {
  const { q, tier, ...same } = view;
  const golden = tier === "confirmed" || tier === "candidate";
  return {
    ...same,
    search: q,
    entry_type: golden ? ("golden" as const) : tier,
    confirmed: golden ? tier === "confirmed" : undefined,
  };
}
