/** What an alert leads to: the traces, cases or runs behind it. */
import { localMinute } from "@/ui/address";
import type { Alert } from "./data";

export type AlertLink =
  | { to: "/traces"; search: { score?: string[]; since?: string; until?: string }; label: string }
  | { to: "/cases"; search: { dataset: string }; label: string }
  | { to: "/benchmarks"; search: { q?: string }; label: string };

const MINUTE = 60_000;

/** The link of an alert. A window ends with the minute in which the alert was last seen to fire. */
export function linkOfAlert(alert: Pick<Alert, "kind" | "subject" | "details" | "seen_at">): AlertLink {
  const { check, below, since, dataset } = alert.details as Record<string, unknown>;
  if (alert.kind === "failing_rate") {
    const until = localMinute(new Date(alert.seen_at).getTime() + MINUTE);
    const score = [`${String(check ?? alert.subject)}<${typeof below === "number" ? below : 0.3}`];
    const window = typeof since === "string" ? { since: localMinute(since), until } : {};
    return { to: "/traces", search: { score, ...window }, label: "Failing traces" };
  }
  if (alert.kind === "dataset_drop")
    return { to: "/cases", search: { dataset: alert.subject }, label: "Cases of the dataset" };
  if (alert.kind === "gate_failed")
    return { to: "/benchmarks", search: typeof dataset === "string" ? { q: dataset } : {}, label: "Runs" };
  return { to: "/traces", search: {}, label: "Newest traces" };
}
