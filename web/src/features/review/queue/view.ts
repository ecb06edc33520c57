/** What the queue shows, as it stands in the address: a view or a case can be sent to somebody. */
import { oneOf, text, withoutBlanks } from "@/ui/address";
import type { Filters } from "./data";

export const KINDS = ["chat", "context", "qa", "summary", "task"] as const;
export const STANDINGS = ["open", "agreed", "disputed", "second_opinion"] as const;
export const REVIEWS = ["unvalidated", "validated"] as const;
export const STATUSES = ["active", "dismissed"] as const;
export const TYPES = ["golden", "failure", "correction"] as const;
export const PARTS = ["mine", "others", "nobodys", "done"] as const;
/** Oldest first unless another order is named. */
export const ORDERS = ["value"] as const;

export type QueueView = {
  q?: string;
  set?: string;
  kind?: (typeof KINDS)[number];
  type?: (typeof TYPES)[number];
  standing?: (typeof STANDINGS)[number];
  review?: (typeof REVIEWS)[number];
  status?: (typeof STATUSES)[number];
  part?: (typeof PARTS)[number];
  order?: (typeof ORDERS)[number];
  tag?: string;
  source?: string;
  check?: string;
  reviewer?: string;
  /** The case on the desk. */
  dataset?: string;
  id?: string;
  show?: "progress";
};

export function readQueueView(search: Record<string, unknown>): QueueView {
  return withoutBlanks({
    q: text(search.q),
    set: text(search.set),
    tag: text(search.tag),
    source: text(search.source),
    check: text(search.check),
    reviewer: text(search.reviewer),
    dataset: text(search.dataset),
    id: text(search.id),
    kind: oneOf(KINDS, search.kind),
    type: oneOf(TYPES, search.type),
    standing: oneOf(STANDINGS, search.standing),
    review: oneOf(REVIEWS, search.review),
    status: oneOf(STATUSES, search.status),
    part: oneOf(PARTS, search.part),
    order: oneOf(ORDERS, search.order),
    show: oneOf(["progress"] as const, search.show),
  });
}

export function filtersOf(view: QueueView): Filters {
  const { q, set, type, dataset: _dataset, id: _id, show: _show, ...same } = view;
  const status = view.status ?? (view.part === "done" ? undefined : ("active" as const));
  return withoutBlanks({ ...same, dataset: set, entry_type: type, text: q, status });
}

/** The address under which a view is kept: without the case on the desk. */
export function addressOf({ dataset: _dataset, id: _id, show: _show, ...view }: QueueView): string {
  return new URLSearchParams(withoutBlanks(view)).toString();
}
