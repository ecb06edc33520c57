/** Every bucket of the period, the empty ones too: a quiet day is a fact, not a gap in the axis. */
import type { Overview } from "./data";

type Bucket = Overview["intake"][number];
type Axis = Pick<Overview, "since" | "bucket">;

const HOUR = 3_600_000;
export const SIZE = { hour: HOUR, day: 24 * HOUR };
const LETTERS = { hour: 13, day: 10 };
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });

export function everyBucket(seen: Overview, now = Date.now()): Bucket[] {
  const held = new Map(seen.intake.map((bucket) => [bucket.start, bucket]));
  return startsOf(seen, seen.intake, now).map(
    (start) => held.get(start) ?? { start, traces: 0, confirmed: 0, candidate: 0, failure: 0, correction: 0 },
  );
}

/** The names of all buckets up to now; a clock that is ahead of ours has buckets after that. */
export function startsOf({ since, bucket }: Axis, held: readonly { start: string }[], now = Date.now()): string[] {
  const latest = Math.max(now, ...held.slice(-1).map(({ start }) => startOf(start)));
  const names: string[] = [];
  for (let at = startOf(nameOf(Date.parse(since), bucket)); at <= latest; at += SIZE[bucket])
    names.push(nameOf(at, bucket));
  return names;
}

export function startOf(name: string): number {
  return Date.parse(name.length === LETTERS.hour ? `${name}:00:00Z` : `${name}T00:00:00Z`);
}

export function timeLabel(start: string): string {
  return (start.length === LETTERS.hour ? hour : day).format(startOf(start));
}

function nameOf(at: number, bucket: Axis["bucket"]): string {
  return new Date(at).toISOString().slice(0, LETTERS[bucket]);
}
