/** How numbers of a run are said: never a mean without its spread and how many it rests on. */
import type { Mean, Run } from "./data";

export const decimals = (value: number | null | undefined) =>
  value === null || value === undefined ? "–" : value.toFixed(3);

export function meanInWords(mean: Mean): string {
  if (mean.value === null || mean.value === undefined) return `– (n=0/${mean.of})`;
  const missing = mean.n < mean.of ? `, ${mean.of - mean.n} unscored` : "";
  return `${mean.value.toFixed(3)}${spread(mean.value, mean.low, mean.high)} (n=${mean.n}/${mean.of}${missing})`;
}

/** `±` only where the interval is the same width on both sides; else its two ends. */
function spread(value: number, low: number | null | undefined, high: number | null | undefined): string {
  if (low === null || low === undefined || high === null || high === undefined) return "";
  if (Math.abs(low + high - 2 * value) < 1e-9) return ` ±${((high - low) / 2).toFixed(3)}`;
  return ` [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

/** Unknown is not free. */
export const money = (cost: number | null | undefined) =>
  cost === null || cost === undefined ? "unknown" : `$${cost.toFixed(cost < 1 ? 4 : 2)}`;

export const tokens = (usage: { input_tokens?: number; output_tokens?: number }) =>
  (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);

/** Milliseconds still to go, from what was done so far; null while nothing is known. */
export function remaining(run: Run, now = Date.now()): number | null {
  const { started_at: started, done = 0, total = 0 } = run;
  if (!started || done === 0 || done >= total) return null;
  return ((now - Date.parse(started)) / done) * (total - done);
}
