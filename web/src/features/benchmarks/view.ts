/** What the addresses of Benchmarks say: which tab, which runs are compared, which task of a run is open. */
import { oneOf, text, withoutBlanks } from "@/ui/address";
import { milliseconds } from "@/ui/format";
import type { Mean, Run } from "./data";

/** Which cases of a comparison are listed. */
export const CHANGES = ["changed", "lost", "gained", "errors", "all"] as const;

/** The baseline and the candidates; which cases are listed, of which candidate, by which metric; the one side by side. */
export type CompareView = {
  runs: string[];
  case?: string;
  show?: (typeof CHANGES)[number];
  against?: string;
  metric?: string;
};

export function compareViewOf(search: Record<string, unknown>): CompareView {
  const runs = Array.isArray(search.runs) ? search.runs : [search.runs];
  const known = runs.filter((run): run is string => typeof run === "string" && run.length > 0).slice(0, 6);
  return withoutBlanks({
    runs: known,
    case: text(search.case),
    show: oneOf(CHANGES, search.show),
    against: text(search.against),
    metric: text(search.metric),
  });
}

const TABS = ["runs", "leaderboard", "trends"] as const;
const SORTS = ["dataset", "model", "score", "status", "cost", "time", "started"] as const;
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

type RunView = { case?: string };

export const runViewOf = (search: Record<string, unknown>): RunView => withoutBlanks({ case: text(search.case) });

/** The order and search of the list of runs. A run without a value comes last in both directions. */
export type Means = Record<string, Mean[]>;
type Value = string | number | null | undefined;

type Measured = { version?: unknown; content_hash?: unknown };
const measured = (run: Run) => (run.provenance?.dataset ?? {}) as Measured;

/** The hash of what was measured. */
export const contentOf = (run: Run) => String(measured(run).content_hash ?? "");

export const isNamed = (run: Run) => Boolean(measured(run).version);

/** The name of the dataset's version, or the start of its content's hash where it has no name. */
export const versionOf = (run: Run) =>
  isNamed(run) ? String(measured(run).version) : contentOf(run).replace("sha256:", "").slice(0, 12);

/** What a run cost: model and judge. Unknown as soon as one of the two is unknown and was used. */
export function costOf(run: Run): number | null {
  const parts = [run.usage ?? {}, run.judge_usage ?? {}];
  const unknown = parts.some((part) => part.cost == null && (part.input_tokens ?? 0) + (part.output_tokens ?? 0) > 0);
  const known = parts.flatMap((part) => part.cost ?? []);
  return unknown || known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0);
}

export const timeOf = (run: Run) => milliseconds(run.started_at, run.ended_at);

const VALUES: Record<RunSort, (run: Run, means: Means) => Value> = {
  dataset: (run) => `${run.spec.dataset} ${versionOf(run)}`,
  model: (run) => run.spec.model,
  score: (run, means) => means[run.id]?.find((mean) => mean.value !== null)?.value,
  status: (run) => run.status,
  cost: costOf,
  time: timeOf,
  started: (run) => Date.parse(run.created_at),
};

export function sorted(runs: readonly Run[], means: Means, sort: RunSort, up: boolean): Run[] {
  const valued = runs.map((run) => ({ run, value: VALUES[sort](run, means) ?? null }));
  valued.sort((one, other) => {
    if (one.value === null || other.value === null) return Number(one.value === null) - Number(other.value === null);
    const order =
      typeof one.value === "string" ? one.value.localeCompare(String(other.value)) : one.value - Number(other.value);
    return up ? order : -order;
  });
  return valued.map(({ run }) => run);
}

/** Whether every word of the search is in the run's names. */
export function matches(run: Run, search: string): boolean {
  const names = [run.id, run.spec.dataset, versionOf(run), run.spec.model, run.status, ...run.spec.metrics];
  const text = names.join(" ").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
