import { describe, expect, it } from "vitest";
import type { Traffic } from "./data";
import { type Figures, lineOf, linkOf, rowsOf, within, worded } from "./traffic";

const figures = (part: Partial<Figures> = {}): Figures => ({
  traces: 10,
  failed: 1,
  tokens: 500,
  cost: 0.25,
  p50: 900,
  p95: 2000,
  p99: 4000,
  scored: 20,
  failing: 3,
  ...part,
});
const seen: Traffic = {
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
    expect(rowsOf(seen, "model", String).map(({ label }) => label)).toEqual([
      "small-1",
      "not recorded",
      "all others",
      "All",
    ]);
  });

  it("leads to the traces of a group, and nowhere for groups that no filter names", () => {
    const [named, unnamed, others] = rowsOf(seen, "model", String);
    expect(named?.link?.model).toEqual(["small-1"]);
    expect(unnamed?.link?.model).toEqual([""]);
    expect(others?.link).toBeNull();
  });

  it("is a row per bucket over time, the newest first", () => {
    const [day, all] = rowsOf(seen, "time", String);
    expect(day?.link).toEqual(within("2026-01-02", "day"));
    expect(all?.label).toBe("All");
  });
});

describe("linkOf", () => {
  it("narrows to what the figure counts", () => {
    const [row] = rowsOf(seen, "model", String);
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
    expect(worded(figures(), "failed")).toBe("1 · 10 %");
    expect(worded(figures({ p95: null }), "p95")).toBe("–");
    expect(worded(figures({ failing: 0 }), "failing")).toBe("0");
  });
});

describe("lineOf", () => {
  it("has no latency where there was no trace", () => {
    const starts = ["2026-01-01", "2026-01-02"];
    expect(lineOf(seen.total.buckets, starts, "p95")).toEqual([null, 2000]);
    expect(lineOf(seen.total.buckets, starts, "traces")).toEqual([0, 10]);
  });
});
