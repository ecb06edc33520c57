/** The order and search of the list of runs. A run without a value comes last in both directions. */
import { milliseconds } from "@/ui/format";
import type { Mean, Run } from "./data";
import type { RunSort } from "./view";

export type Means = Record<string, Mean[]>;
type Value = string | number | null | undefined;

/** The name of the dataset's version, or the start of its content's hash where it has no name. */
export function versionOf(run: Run): string {
  const dataset = (run.provenance?.dataset ?? {}) as { version?: unknown; content_hash?: unknown };
  const named = typeof dataset.version === "string" ? dataset.version : "";
  return (
    named ||
    String(dataset.content_hash ?? "")
      .replace("sha256:", "")
      .slice(0, 12)
  );
}

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
