/** How numbers of a run are said: never a mean without its spread and how many it rests on. */
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
    mean.not_applicable ? `, ${mean.not_applicable} not applicable` : "",
    mean.self_compared ? `, ${mean.self_compared} compared with itself` : "",
  ].join("");
  if (mean.value === null || mean.value === undefined) return `(n=0/${mean.of}${outside})`;
  const missing = mean.n < mean.of ? `, ${mean.of - mean.n} unscored` : "";
  return `${spread(mean.value, mean.low, mean.high)}(n=${mean.n}/${mean.of}${missing}${outside})`;
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
