/** The figures of the traffic as rows and columns, each with the list of traces that it counts. */

import { localMinute } from "@/ui/address";
import { NOT_RECORDED } from "@/ui/filterbar/fields";
import { count, dollars, duration, share } from "@/ui/format";
import { visible } from "@/ui/text";
import type { Grouping, Measure, Overview, Traffic } from "./data";

export type Figures = Traffic["total"]["figures"];
type Bucket = Traffic["total"]["buckets"][number];

export const LABEL: Record<Measure, string> = {
  traces: "Traces",
  cost: "Cost",
  tokens: "Tokens",
  p50: "Latency, p50",
  p95: "Latency, p95",
  p99: "Latency, p99",
  failed: "Errors",
  failing: "Failing checks",
};

export const TIMES: readonly Measure[] = ["p50", "p95", "p99"];

/** The filters of the Traces page that a figure stands for. */
type TraceLink = {
  since?: string;
  until?: string;
  model?: string[];
  name?: string[];
  status?: "failed";
  score?: string[];
  took_min?: number;
  order?: "slowest" | "dearest" | "most_tokens";
};

/** One line of the table; no link where its traces are no list that can be asked for. */
export type Row = { key: string; label: string; figures: Figures; link: TraceLink | null };

/** The traces that began in one bucket. */
export function within(start: string, bucket: Traffic["bucket"]): TraceLink {
  const from = startOf(start);
  return { since: localMinute(from), until: localMinute(from + SIZE[bucket]) };
}

export function ofGroup(seen: Traffic, value: string | null): TraceLink | null {
  return value === null ? null : { since: localMinute(seen.since), [seen.by]: [value] };
}

export function labelOf(value: string | null): string {
  return value === null ? "all others" : visible(value) || NOT_RECORDED;
}

export function rowsOf(seen: Traffic, by: Grouping, timeLabel: (start: string) => string): Row[] {
  const all = { key: "all", label: "All", figures: seen.total.figures, link: { since: localMinute(seen.since) } };
  if (by !== "time")
    return [
      ...seen.groups.map(({ value, figures }) => ({
        key: `of ${value}`,
        label: labelOf(value),
        figures,
        link: ofGroup(seen, value),
      })),
      all,
    ];
  const newest = seen.total.buckets.toReversed();
  return [
    ...newest.map((bucket) => ({
      key: bucket.start,
      label: timeLabel(bucket.start),
      figures: bucket,
      link: within(bucket.start, seen.bucket),
    })),
    all,
  ];
}

/** The list that one figure of a row counts. */
export function linkOf(row: Row, measure: Measure): TraceLink | null {
  const { link, figures } = row;
  if (link === null) return null;
  if (measure === "failed") return { ...link, status: "failed" };
  if (measure === "failing") return { ...link, score: ["*<0.3"] };
  if (measure === "cost") return { ...link, order: "dearest" };
  if (measure === "tokens") return { ...link, order: "most_tokens" };
  if (measure === "traces") return link;
  return { ...link, took_min: figures[measure] ?? 0, order: "slowest" };
}

export function worded(figures: Figures, measure: Measure): string {
  if (measure === "cost") return costInWords(figures);
  if (measure === "failed") return rated(figures.failed, figures.traces);
  if (measure === "failing") return rated(figures.failing, figures.scored);
  if (measure === "traces" || measure === "tokens") return count(figures[measure]);
  return duration(figures[measure]);
}

/** A sum of costs, with the share of the traces whose cost is known where that is not all of them. */
function costInWords({ cost, cost_known, traces }: Figures): string {
  if (cost === null || cost === undefined) return traces > 0 ? "unknown" : "–";
  return cost_known === 1 ? dollars(cost) : `${dollars(cost)} · ${share(cost_known ?? 0, 1)} known`;
}

function rated(part: number, all: number): string {
  return part === 0 ? "0" : `${count(part)} · ${share(part, all)}`;
}

/** A measure of every bucket of the axis; an hour without traces has no latency, and no more than zero of everything else. A cost
 * that is not known is none. */
export function lineOf(buckets: readonly Bucket[], starts: readonly string[], measure: Measure): (number | null)[] {
  const held = new Map(buckets.map((bucket) => [bucket.start, bucket]));
  const none = (start: string) => (TIMES.includes(measure) || (measure === "cost" && held.has(start)) ? null : 0);
  return starts.map((start) => held.get(start)?.[measure] ?? none(start));
}

type IntakeBucket = Overview["intake"][number];
type Axis = Pick<Overview, "since" | "bucket">;

const HOUR = 3_600_000;
/** Every bucket of the period, the empty ones too: a quiet day is a fact, not a gap in the axis. */
const SIZE = { hour: HOUR, day: 24 * HOUR };
const LETTERS = { hour: 13, day: 10 };
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });

export function everyBucket(seen: Overview, now = Date.now()): IntakeBucket[] {
  const held = new Map(seen.intake.map((bucket) => [bucket.start, bucket]));
  return startsOf(seen, seen.intake, now).map(
    (start) =>
      held.get(start) ?? { start, traces: 0, confirmed: 0, unconfirmed: 0, candidate: 0, failure: 0, correction: 0 },
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

function startOf(name: string): number {
  return Date.parse(name.length === LETTERS.hour ? `${name}:00:00Z` : `${name}T00:00:00Z`);
}

export function timeLabel(start: string): string {
  return (start.length === LETTERS.hour ? hour : day).format(startOf(start));
}

function nameOf(at: number, bucket: Axis["bucket"]): string {
  return new Date(at).toISOString().slice(0, LETTERS[bucket]);
}
