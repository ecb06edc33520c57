import { describe, expect, it } from "vitest";
import { ageInWords } from "@/ui/Age";
import { localMinute } from "@/ui/address";
import { labelRaises, ticksTo } from "@/ui/Chart";
import { linkOfAlert, type Overview, olderTraces, type Traffic } from "./data";
import { everyBucket, type Figures, lineOf, linkOf, rowsOf, within, worded } from "./traffic";

const held = (in_period: number, oldest: string | null, traces = 173) => ({
  traces,
  in_period,
  oldest,
  as_of: "2026-11-17T12:00:00Z",
});

describe("older traces", () => {
  it("are named with the shortest period that holds all", () => {
    expect(olderTraces(held(3, "2026-09-01T00:00:00Z"), "30d")).toEqual({ hidden: 170, period: "90d" });
    expect(olderTraces(held(0, "2026-02-01T00:00:00Z"), "24h")).toEqual({ hidden: 173, period: "365d" });
  });

  it("lead to all traces where no period holds them", () => {
    expect(olderTraces(held(3, "2023-05-01T00:00:00Z"), "30d")).toEqual({ hidden: 170 });
    expect(olderTraces(held(3, null), "365d")).toEqual({ hidden: 170 });
  });

  it("are not named where the period holds at least half, or there are none", () => {
    expect(olderTraces(held(87, "2023-05-01T00:00:00Z"), "30d")).toBeNull();
    expect(olderTraces(held(173, "2026-11-10T00:00:00Z"), "30d")).toBeNull();
    expect(olderTraces(held(0, null, 0), "30d")).toBeNull();
  });
});

const seen_at = "2026-01-02T10:00:30.000Z";
const since = "2026-01-02T09:00:30.000Z";

it("leads from a failing check to its failing traces within the window", () => {
  const details = { check: "grounded", below: 0.4, since };
  expect(linkOfAlert({ kind: "failing_rate", subject: "grounded", details, seen_at })).toEqual({
    to: "/traces",
    search: { score: ["grounded<0.4"], since: localMinute(since), until: localMinute("2026-01-02T10:01:30Z") },
    label: "Failing traces",
  });
});

it("leads from an alert of an earlier version to the failing traces of any time", () => {
  const link = linkOfAlert({ kind: "failing_rate", subject: "grounded", details: {}, seen_at });
  expect(link.search).toEqual({ score: ["grounded<0.3"] });
});

it("leads to the cases of a dataset, to runs, and to the newest traces", () => {
  const of = (kind: "dataset_drop" | "gate_failed" | "intake_stopped", details = {}) =>
    linkOfAlert({ kind, subject: "faq", details, seen_at });
  expect(of("dataset_drop")).toMatchObject({ to: "/cases", search: { dataset: "faq" } });
  expect(of("gate_failed", { dataset: "faq" })).toMatchObject({ to: "/benchmarks", search: { q: "faq" } });
  expect(of("intake_stopped")).toMatchObject({ to: "/traces", search: {} });
});

const seen = (part: Partial<Overview>): Overview => ({
  as_of: "2026-01-03T08:00:00.000Z",
  since: "2026-01-01T10:30:00.000Z",
  bucket: "day",
  traces: 0,
  in_period: 0,
  oldest: null,
  newest: null,
  intake: [],
  tiers: { confirmed: 0, unconfirmed: 0, candidate: 0, failure: 0, correction: 0 },
  checks: [],
  coverage: [],
  incomplete: [],
  ...part,
});

describe("everyBucket", () => {
  it("fills the quiet days with zeros", () => {
    const one = {
      start: "2026-01-02",
      traces: 7,
      confirmed: 1,
      unconfirmed: 0,
      candidate: 0,
      failure: 0,
      correction: 0,
    };
    const found = everyBucket(seen({ intake: [one] }), Date.parse("2026-01-03T08:00:00Z"));
    expect(found.map(({ start, traces }) => [start, traces])).toEqual([
      ["2026-01-01", 0],
      ["2026-01-02", 7],
      ["2026-01-03", 0],
    ]);
  });

  it("goes by the hour when the period is a day", () => {
    const found = everyBucket(seen({ bucket: "hour" }), Date.parse("2026-01-01T12:01:00Z"));
    expect(found.map(({ start }) => start)).toEqual(["2026-01-01T10", "2026-01-01T11", "2026-01-01T12"]);
  });

  it("keeps what a fast clock stamped in the future", () => {
    const ahead = {
      start: "2026-01-03",
      traces: 1,
      confirmed: 0,
      unconfirmed: 0,
      candidate: 0,
      failure: 0,
      correction: 0,
    };
    const found = everyBucket(seen({ intake: [ahead] }), Date.parse("2026-01-02T00:00:00Z"));
    expect(found.at(-1)).toEqual(ahead);
  });
});

const figures = (part: Partial<Figures> = {}): Figures => ({
  traces: 10,
  failed: 1,
  tokens: 500,
  cost: 0.25,
  cost_known: 1,
  p50: 900,
  p95: 2000,
  p99: 4000,
  scored: 20,
  failing: 3,
  ...part,
});
const counted: Traffic = {
  as_of: "2026-01-03T08:00:00.000Z",
  since: "2026-01-01T00:00:00.000Z",
  bucket: "day",
  by: "model",
  total: { value: null, figures: figures(), buckets: [{ start: "2026-01-02", ...figures() }] },
  groups: [
    { value: "small-1", figures: figures(), buckets: [] },
    { value: "", figures: figures(), buckets: [] },
    { value: null, figures: figures(), buckets: [] },
  ],
  checks: [],
};

describe("rowsOf", () => {
  it("names each group, also what was not recorded and all others, and the sum last", () => {
    expect(rowsOf(counted, "model", String).map(({ label }) => label)).toEqual([
      "small-1",
      "not recorded",
      "all others",
      "All",
    ]);
  });

  it("leads to the traces of a group, and nowhere for groups that no filter names", () => {
    const [named, unnamed, others] = rowsOf(counted, "model", String);
    expect(named?.link?.model).toEqual(["small-1"]);
    expect(unnamed?.link?.model).toEqual([""]);
    expect(others?.link).toBeNull();
  });

  it("is a row per bucket over time, the newest first", () => {
    const [day, all] = rowsOf(counted, "time", String);
    expect(day?.link).toEqual(within("2026-01-02", "day"));
    expect(all?.label).toBe("All");
  });
});

describe("linkOf", () => {
  it("narrows to what the figure counts", () => {
    const [row] = rowsOf(counted, "model", String);
    if (!row) throw new Error("no row");
    expect(linkOf(row, "failed")).toMatchObject({ status: "failed", model: ["small-1"] });
    expect(linkOf(row, "failing")).toMatchObject({ score: ["*<0.3"] });
    expect(linkOf(row, "p95")).toMatchObject({ took_min: 2000, order: "slowest" });
    expect(linkOf(row, "cost")).toMatchObject({ order: "dearest" });
  });
});

describe("worded", () => {
  it("says amounts, shares and times as people do", () => {
    expect(worded(figures(), "cost")).toBe("$0.25");
    expect(worded(figures({ cost_known: 0.5 }), "cost")).toBe("$0.25 · 50 % known");
    expect(worded(figures({ cost: null, cost_known: 0 }), "cost")).toBe("unknown");
    expect(worded(figures(), "failed")).toBe("1 · 10 %");
    expect(worded(figures({ p95: null }), "p95")).toBe("–");
    expect(worded(figures({ failing: 0 }), "failing")).toBe("0");
  });
});

describe("lineOf", () => {
  it("has no latency where there was no trace", () => {
    const starts = ["2026-01-01", "2026-01-02"];
    expect(lineOf(counted.total.buckets, starts, "p95")).toEqual([null, 2000]);
    expect(lineOf(counted.total.buckets, starts, "traces")).toEqual([0, 10]);
  });

  it("has no cost where none is known", () => {
    const buckets = [{ start: "2026-01-02", ...figures({ cost: null, cost_known: 0 }) }];
    expect(lineOf(buckets, ["2026-01-01", "2026-01-02"], "cost")).toEqual([0, null]);
  });
});

describe("ageInWords", () => {
  it("is said of what is older than a minute, by the server's clock and by ours", () => {
    expect(ageInWords(10, 1_000, 31_000)).toBeNull();
    expect(ageInWords(40, 1_000, 31_000)).toBe("1 min 10 s");
    expect(ageInWords(undefined, 0, 3_600_000)).toBe("1 h 0 min");
    expect(ageInWords(0, 90_000, 0)).toBeNull();
  });
});

it("raises the labels of lines that end at one place, and no others", () => {
  expect(labelRaises([0.97, 0, 0], 0.1)).toEqual([0, 0.1, 0]);
  expect(labelRaises([null, 0.5, 0.05], 0.1)).toEqual([0, 0, 0]);
});

it("puts round ticks under any largest value", () => {
  expect(ticksTo(0)).toEqual([0, 1]);
  expect(ticksTo(1)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(ticksTo(15)).toEqual([0, 5, 10, 15]);
  expect(ticksTo(2, true)).toEqual([0, 1, 2]);
  for (const most of [0.0003, 0.07, 2, 3, 999, 1001, 123456]) {
    const ticks = ticksTo(most);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(most);
    expect(ticks.length).toBeLessThanOrEqual(6);
  }
});
