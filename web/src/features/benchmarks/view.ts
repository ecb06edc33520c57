/** What the addresses of Benchmarks say: which tab, which runs are compared, which task of a run is open. */
import { oneOf, text, withoutBlanks } from "@/ui/address";

/** The run to measure against, and the others. */
export type CompareView = { runs: string[] };

export function compareViewOf(search: Record<string, unknown>): CompareView {
  const runs = Array.isArray(search.runs) ? search.runs : [search.runs];
  return { runs: runs.filter((run): run is string => typeof run === "string" && run.length > 0).slice(0, 6) };
}

export const TABS = ["runs", "leaderboard"] as const;
export const SORTS = ["dataset", "model", "score", "status", "cost", "time", "started"] as const;
export type RunSort = (typeof SORTS)[number];
export type BenchmarksView = { tab?: (typeof TABS)[number]; q?: string; sort?: RunSort; up?: boolean };

export const benchmarksViewOf = (search: Record<string, unknown>): BenchmarksView =>
  withoutBlanks({
    tab: oneOf(TABS, search.tab),
    q: text(search.q),
    sort: oneOf(SORTS, search.sort),
    up: search.up === true ? true : undefined,
  });

export type RunView = { case?: string };

export const runViewOf = (search: Record<string, unknown>): RunView => withoutBlanks({ case: text(search.case) });
