/** What the list shows, as it stands in the address bar. Values that are not known are dropped, never sent on. */
import type { Schemas } from "@/api/client";
import { oneOf, text, texts, withoutBlanks } from "@/ui/address";

type Evidence = Schemas["TierEvidence"];

export const KINDS = ["chat", "context", "qa", "summary", "task"] as const;
export const TIERS = ["confirmed", "unconfirmed", "candidate", "failure", "correction"] as const;
export const REVIEWS = ["unvalidated", "validated"] as const;
export const STATUSES = ["active", "withdrawn", "dismissed", "erased"] as const;
export const ORDERS = ["newest", "oldest", "changed"] as const;

export type CaseView = {
  q?: string;
  dataset?: string;
  kind?: (typeof KINDS)[number];
  tier?: (typeof TIERS)[number];
  review?: (typeof REVIEWS)[number];
  status?: (typeof STATUSES)[number];
  tag?: string[];
  evidence?: string[];
  source?: string;
  metadata?: string[];
  since?: string;
  until?: string;
  order?: (typeof ORDERS)[number];
  columns?: string[];
};

export function readCaseView(search: Record<string, unknown>): CaseView {
  return withoutBlanks({
    q: text(search.q),
    dataset: text(search.dataset),
    tag: texts(search.tag),
    kind: oneOf(KINDS, search.kind),
    tier: oneOf(TIERS, search.tier),
    review: oneOf(REVIEWS, search.review),
    status: oneOf(STATUSES, search.status),
    evidence: texts(search.evidence),
    source: text(search.source),
    metadata: texts(search.metadata),
    since: text(search.since),
    until: text(search.until),
    order: oneOf(ORDERS, search.order),
    columns: texts(search.columns),
  });
}

/** Whether anything narrows the list: columns and order do not. */
export function isNarrowed({ order: _, columns: __, ...filters }: CaseView): boolean {
  return Object.keys(filters).length > 0;
}

/** The filters in the words of the API: a tier is an entry type, whether somebody confirmed it, and whether anything did. */
export function asQuery(view: CaseView) {
  const { q, tier, evidence, since, until, order: _, columns: __, ...same } = view;
  const golden = tier === "confirmed" || tier === "unconfirmed" || tier === "candidate";
  return {
    ...same,
    search: q,
    evidence: evidence as Evidence[] | undefined,
    entry_type: golden ? ("golden" as const) : tier,
    confirmed: tier === "confirmed" || tier === "unconfirmed" ? tier === "confirmed" : undefined,
    candidates: tier === "candidate" ? ("only" as const) : undefined,
    since: moment(since),
    until: moment(until),
  };
}

/** A moment as a person writes it is a moment where they are. */
function moment(written: string | undefined): string | undefined {
  const read = written ? new Date(written) : undefined;
  return read && !Number.isNaN(read.getTime()) ? read.toISOString() : undefined;
}
