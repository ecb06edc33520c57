/** What the addresses of Benchmarks say: which tab, which runs are compared, which task of a run is open. */
import { oneOf, text, withoutBlanks } from "@/ui/address";

/** The run to measure against, and the others; the task whose answers are side by side, among flips or all tasks. */
export type CompareView = { runs: string[]; case?: string; only?: "all" };

export function compareViewOf(search: Record<string, unknown>): CompareView {
  const runs = Array.isArray(search.runs) ? search.runs : [search.runs];
  const known = runs.filter((run): run is string => typeof run === "string" && run.length > 0).slice(0, 6);
  return withoutBlanks({ runs: known, case: text(search.case), only: oneOf(["all"] as const, search.only) });
}

export const TABS = ["runs", "leaderboard", "trends"] as const;
export const SORTS = ["dataset", "model", "score", "status", "cost", "time", "started"] as const;
export type RunSort = (typeof SORTS)[number];
export type BenchmarksView = {
  tab?: (typeof TABS)[number];
  q?: string;
  sort?: RunSort;
  up?: boolean;
  dataset?: string;
  metric?: string;
};

export const benchmarksViewOf = (search: Record<string, unknown>): BenchmarksView =>
  withoutBlanks({
    tab: oneOf(TABS, search.tab),
    q: text(search.q),
    dataset: text(search.dataset),
    metric: text(search.metric),
    sort: oneOf(SORTS, search.sort),
    up: search.up === true ? true : undefined,
  });

export type RunView = { case?: string };

export const runViewOf = (search: Record<string, unknown>): RunView => withoutBlanks({ case: text(search.case) });
