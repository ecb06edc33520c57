/** The numbers of runs, in words and as points of charts: never a mean without its spread and how many it rests on. */
import { count } from "@/ui/format";
import type { Board, Mean, Run } from "./data";

export const decimals = (value: number | null | undefined) =>
  value === null || value === undefined ? "–" : value.toFixed(3);

export function meanInWords(mean: Mean): string {
  return `${decimals(mean.value)} ${basis(mean)}`;
}

/** What a mean rests on: its interval, and how many of the cases could be scored. */
export function basis(mean: Mean): string {
  const outside = [
    mean.errors ? `, ${mean.errors} ${mean.excluded ? "errors left out" : mean.errors === 1 ? "error" : "errors"}` : "",
    mean.failed ? `, ${mean.failed} failed` : "",
    mean.truncated ? `, ${mean.truncated} truncated` : "",
    mean.uncited ? `, ${mean.uncited} ${mean.uncited === 1 ? "cites" : "cite"} nothing` : "",
    mean.outside ? `, ${mean.outside} outside the judge's languages` : "",
    mean.not_applicable ? `, ${mean.not_applicable} not applicable` : "",
    mean.self_compared ? `, ${mean.self_compared} compared with itself` : "",
  ].join("");
  if (mean.value === null || mean.value === undefined) return `(n=0/${mean.of}${outside})`;
  const missing = mean.n < mean.of ? `, ${mean.of - mean.n} unscored` : "";
  return `${spread(mean.value, mean.low, mean.high)}(n=${mean.n === mean.of ? mean.n : `${mean.n}/${mean.of}`}${missing}${outside})`;
}

/** `±` only where the interval is the same width on both sides; else its two ends. */
function spread(value: number, low: number | null | undefined, high: number | null | undefined): string {
  if (low === null || low === undefined || high === null || high === undefined) return "";
  if (Math.abs(low + high - 2 * value) < 1e-9) return `±${((high - low) / 2).toFixed(3)} `;
  return `[${low.toFixed(3)}, ${high.toFixed(3)}] `;
}

/** Unknown is not free. */
export const money = (cost: number | null | undefined) =>
  cost === null || cost === undefined ? "unknown" : `$${cost.toFixed(cost < 1 ? 4 : 2)}`;

type Spent = { input_tokens?: number; output_tokens?: number; cost?: number | null };

export const tokens = (usage: Spent) => (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);

/** Tokens and money in one line; what used no tokens and has no price list cost nothing worth a word. */
export function spent(usage: Spent): string {
  const used = tokens(usage);
  const known = usage.cost !== null && usage.cost !== undefined;
  if (used === 0 && !known) return "no tokens";
  return `${count(used)} tokens, ${known ? money(usage.cost) : "price unknown"}`;
}

/** Which questions a board is about: a named version with its content, or the content alone where there is no name. */
export function contentInWords({ version, content_hash: hash }: Pick<Board, "version" | "content_hash">): string {
  const short = hash.replace("sha256:", "").slice(0, 12);
  return version === short ? `content ${short}` : `${version} · content ${short}`;
}

/** Milliseconds still to go, from what was done so far; null while nothing is known. */
export function remaining(run: Run, now = Date.now()): number | null {
  const { started_at: started, done = 0, total = 0 } = run;
  if (!started || done === 0 || done >= total) return null;
  return ((now - Date.parse(started)) / done) * (total - done);
}

/** The models of a board that have a place between cost and quality. One of unknown price or value would look free or worthless. */
export type Point = { name: string; value: [cost: number, mean: number] };

export function pointsOf(board: Board): Point[] {
  return board.entries.flatMap(({ model, usage: { cost }, means }) => {
    const value = means.find((each) => each.metric === board.metrics[0])?.value;
    return typeof cost === "number" && typeof value === "number" ? [{ name: model, value: [cost, value] }] : [];
  });
}

/** The points of a metric over time, out of runs and their means. */
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
