/**
 * Spans as a tree with timings, in the order a reader follows: parents before children, siblings by start.
 *
 * Real telemetry is untidy: parents that never arrived, spans without times, a span that names itself. Such a span still gets
 * its row; nothing is dropped.
 */
import { count, dollars } from "@/ui/format";

type TimedSpan = {
  id: string;
  parent_id?: string | null;
  started_at?: string | null;
  ended_at?: string | null;
};

export type SpanRow<Item extends TimedSpan> = {
  span: Item;
  depth: number;
  /** How many spans are directly below. */
  children: number;
  /** Start and length as shares of the whole, or null where a time is missing. */
  bar: { offset: number; width: number } | null;
  ms: number | null;
};

type SpanTree<Item extends TimedSpan> = { rows: SpanRow<Item>[]; totalMs: number };

export function spanTree<Item extends TimedSpan>(spans: readonly Item[]): SpanTree<Item> {
  const [start, end] = extent(spans);
  const total = end - start;
  const known = new Set(spans.map((span) => span.id));
  const children = new Map<string | null, Item[]>();
  for (const span of spans) {
    const parent = span.parent_id && span.parent_id !== span.id && known.has(span.parent_id) ? span.parent_id : null;
    const siblings = children.get(parent);
    if (siblings) siblings.push(span);
    else children.set(parent, [span]);
  }
  const rows: SpanRow<Item>[] = [];
  const seen = new Set<Item>();
  // A stack of its own: telemetry may nest deeper than calls may.
  const waiting: { span: Item; depth: number }[] = [];
  const push = (some: Item[], depth: number) => {
    for (const span of inOrder(some).toReversed()) waiting.push({ span, depth });
  };
  function visitAll() {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { span, depth } = next;
      if (seen.has(span)) continue;
      seen.add(span);
      const below = children.get(span.id) ?? [];
      rows.push({ span, depth, children: below.length, ...timing(span, start, total) });
      push(below, depth + 1);
    }
  }
  push(children.get(null) ?? [], 0);
  visitAll();
  for (const span of spans) {
    waiting.push({ span, depth: 0 }); // members of a cycle have no root
    visitAll();
  }
  return { rows, totalMs: total };
}

/** The rows to show: without what is folded away, or those a search found together with the way down to them. */
export function shownRows<Row extends { span: { id: string }; depth: number }>(
  rows: readonly Row[],
  folded: ReadonlySet<string>,
  matches: ((row: Row) => boolean) | null,
): Row[] {
  const shown: Row[] = [];
  if (matches) {
    const taken = new Set<Row>();
    const above: Row[] = [];
    for (const row of rows) {
      above.length = Math.min(above.length, row.depth);
      above.push(row);
      if (!matches(row)) continue;
      for (const each of above) {
        if (!taken.has(each)) shown.push(each);
        taken.add(each);
      }
    }
    return shown;
  }
  let under = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    if (row.depth > under) continue;
    under = folded.has(row.span.id) ? row.depth : Number.POSITIVE_INFINITY;
    shown.push(row);
  }
  return shown;
}

/** Four or so round marks for the time axis. */
export function ticks(totalMs: number, wanted = 4): number[] {
  if (totalMs <= 0) return [0];
  const rough = totalMs / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  return Array.from({ length: Math.floor(totalMs / step) + 1 }, (_, index) => index * step);
}

function extent(spans: readonly TimedSpan[]): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const span of spans) {
    for (const time of [span.started_at, span.ended_at]) {
      if (!time) continue;
      const at = new Date(time).getTime();
      low = Math.min(low, at);
      high = Math.max(high, at);
    }
  }
  return low <= high ? [low, high] : [0, 0];
}

function timing(span: TimedSpan, start: number, total: number): Pick<SpanRow<TimedSpan>, "bar" | "ms"> {
  if (!span.started_at || !span.ended_at) return { bar: null, ms: null };
  const from = new Date(span.started_at).getTime();
  const ms = Math.max(0, new Date(span.ended_at).getTime() - from);
  return { ms, bar: total > 0 ? { offset: (from - start) / total, width: ms / total } : { offset: 0, width: 1 } };
}

function inOrder<Item extends TimedSpan>(spans: Item[]): Item[] {
  return spans.toSorted((one, other) => (one.started_at ?? "").localeCompare(other.started_at ?? ""));
}

type Metadata = { [key: string]: unknown } | null | undefined;

const number = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null;

/** What one step took of tokens and money, in a few words; empty where neither was recorded. */
export function billOf(metadata: Metadata): string {
  const read = number(metadata?.input_tokens);
  const written = number(metadata?.output_tokens);
  const tokens = number(metadata?.tokens) ?? number(metadata?.total_tokens) ?? ((read ?? 0) + (written ?? 0) || null);
  const cost = number(metadata?.cost);
  return [tokens && `${count(tokens)} tokens`, cost && dollars(cost)].filter(Boolean).join(" · ");
}
