import { describe, expect, it } from "vitest";
import { everyBucket } from "./buckets";
import type { Overview } from "./data";

const seen = (part: Partial<Overview>): Overview => ({
  as_of: "2026-01-03T08:00:00.000Z",
  since: "2026-01-01T10:30:00.000Z",
  bucket: "day",
  traces: 0,
  in_period: 0,
  oldest: null,
  newest: null,
  intake: [],
  tiers: { confirmed: 0, candidate: 0, failure: 0, correction: 0 },
  checks: [],
  coverage: [],
  ...part,
});

describe("everyBucket", () => {
  it("fills the quiet days with zeros", () => {
    const one = { start: "2026-01-02", traces: 7, confirmed: 1, candidate: 0, failure: 0, correction: 0 };
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
    const ahead = { start: "2026-01-03", traces: 1, confirmed: 0, candidate: 0, failure: 0, correction: 0 };
    const found = everyBucket(seen({ intake: [ahead] }), Date.parse("2026-01-02T00:00:00Z"));
    expect(found.at(-1)).toEqual(ahead);
  });
});
