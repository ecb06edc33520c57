/** The points of a metric over time, out of runs and their means. */
import type { Mean, Run } from "./data";

export type TrendPoint = { run: Run; mean: Mean; value: [number, number] };
type Means = Record<string, readonly Mean[]>;

/** Datasets with a completed run, each with the metrics measured on it. */
export function datasetsOf(runs: readonly Run[], means: Means): Map<string, string[]> {
  const known = new Map<string, string[]>();
  for (const run of runs) {
    const measured = (means[run.id] ?? []).filter(({ value }) => typeof value === "number").map(({ metric }) => metric);
    if (run.status !== "completed" || measured.length === 0) continue;
    known.set(run.spec.dataset, [...new Set([...(known.get(run.spec.dataset) ?? []), ...measured])]);
  }
  return known;
}

/** A line for each model: its completed runs on the dataset, oldest first. A run without the metric is left out. */
export function linesOf(runs: readonly Run[], means: Means, dataset: string, metric: string) {
  const lines = new Map<string, TrendPoint[]>();
  for (const run of runs) {
    const mean = (means[run.id] ?? []).find((each) => each.metric === metric);
    if (run.status !== "completed" || run.spec.dataset !== dataset || typeof mean?.value !== "number") continue;
    const point: TrendPoint = { run, mean, value: [Date.parse(run.ended_at ?? run.created_at ?? ""), mean.value] };
    lines.set(run.spec.model, [...(lines.get(run.spec.model) ?? []), point]);
  }
  return [...lines].map(([model, points]) => ({
    model,
    points: points.sort((one, other) => one.value[0] - other.value[0]),
  }));
}
