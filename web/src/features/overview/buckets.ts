/** Every bucket of the period, the empty ones too: a quiet day is a fact, not a gap in the axis. */
import type { Overview } from "./data";

type Bucket = Overview["intake"][number];

const HOUR = 3_600_000;
const SIZE = { hour: HOUR, day: 24 * HOUR };
const LETTERS = { hour: 13, day: 10 };

export function everyBucket(seen: Overview, now = Date.now()): Bucket[] {
  const held = new Map(seen.intake.map((bucket) => [bucket.start, bucket]));
  const latest = Math.max(now, ...seen.intake.slice(-1).map((bucket) => startOf(bucket.start)));
  const buckets: Bucket[] = [];
  for (let at = startOf(nameOf(Date.parse(seen.since), seen.bucket)); at <= latest; at += SIZE[seen.bucket]) {
    const start = nameOf(at, seen.bucket);
    buckets.push(held.get(start) ?? { start, traces: 0, confirmed: 0, candidate: 0, failure: 0, correction: 0 });
  }
  return buckets;
}

export function startOf(name: string): number {
  return Date.parse(name.length === LETTERS.hour ? `${name}:00:00Z` : `${name}T00:00:00Z`);
}

function nameOf(at: number, bucket: Overview["bucket"]): string {
  return new Date(at).toISOString().slice(0, LETTERS[bucket]);
}
