import { describe, expect, it, test } from "vitest";
import { type Board, followEvery, type Mean, type Run } from "./data";
import { contentInWords, datasetsOf, linesOf, meanInWords, money, pointsOf, remaining, spent } from "./figures";
import { compareViewOf } from "./view";

const beside = {
  not_applicable: 0,
  self_compared: 0,
  errors: 0,
  failed: 0,
  truncated: 0,
  uncited: 0,
  outside: 0,
  excluded: false,
};
const mean = { metric: "m", ...beside, value: 0.5, low: 0.4, high: 0.6, n: 9, of: 10 };

describe("numbers of a run", () => {
  it("says a mean with its spread and what it rests on", () => {
    expect(meanInWords(mean)).toBe("0.500 ±0.100 (n=9/10, 1 unscored)");
    expect(meanInWords({ ...mean, value: null, low: null, high: null, n: 0 })).toBe("– (n=0/10)");
    expect(meanInWords({ ...mean, n: 10, errors: 14, failed: 1 })).toBe("0.500 ±0.100 (n=10, 14 errors, 1 failed)");
    const lopsided = { ...mean, value: 0.125, low: 0.022, high: 0.471 };
    expect(meanInWords(lopsided)).toBe("0.125 [0.022, 0.471] (n=9/10, 1 unscored)");
  });
  it("does not call an unknown price free", () => {
    expect(money(null)).toBe("unknown");
    expect(money(0)).toBe("$0.0000");
  });
  it("says what was spent, and what nobody knows the price of", () => {
    expect(spent({ input_tokens: 1200, output_tokens: 34, cost: 0.5 })).toBe("1,234 tokens, $0.5000");
    expect(spent({ input_tokens: 7, cost: null })).toBe("7 tokens, price unknown");
    expect(spent({ cost: null })).toBe("no tokens");
  });
  it("names the content of a board once", () => {
    const content_hash = "sha256:0123456789abcdef";
    expect(contentInWords({ version: "0123456789ab", content_hash })).toBe("content 0123456789ab");
    expect(contentInWords({ version: "v2", content_hash })).toBe("v2 · content 0123456789ab");
  });
  it("draws no model whose price or value is unknown, neither as free nor as worthless", () => {
    const entry = (model: string, cost: number | null, value: number | null) => ({
      model,
      usage: { cost },
      means: [{ ...mean, value }],
    });
    const entries = [entry("a", 0.2, 0.9), entry("b", null, 0.9), entry("c", 0.1, null), entry("d", 0, 0)];
    expect(pointsOf({ metrics: ["m"], entries } as unknown as Board)).toEqual([
      { name: "a", value: [0.2, 0.9] },
      { name: "d", value: [0, 0] },
    ]);
  });
  it("tells what remains only once something is done", () => {
    const run = { started_at: "2026-01-01T00:00:00Z", done: 10, total: 30 } as Run;
    expect(remaining(run, Date.parse("2026-01-01T00:00:10Z"))).toBe(20_000);
    expect(remaining({ ...run, done: 0 })).toBeNull();
  });
  it("asks after a run as often as its size allows, and not after one that ended", () => {
    const run = { status: "running", total: 90 } as Run;
    expect(followEvery(run)).toBe(1_000);
    expect(followEvery({ ...run, total: 2_000 })).toBe(4_000);
    expect(followEvery({ ...run, total: 1_000_000 })).toBe(10_000);
    expect(followEvery({ ...run, status: "completed" })).toBe(false);
  });
  it("reads one run or several from the address", () => {
    expect(compareViewOf({ runs: "a" })).toEqual({ runs: ["a"] });
    expect(compareViewOf({ runs: ["a", 3, "b"] })).toEqual({ runs: ["a", "b"] });
    expect(compareViewOf({})).toEqual({ runs: [] });
  });
});

const run = (id: string, model: string, ended: string, status = "completed") =>
  ({ id, status, spec: { dataset: "live", model }, ended_at: ended }) as unknown as Run;
const meanOf = (value: number | null) => [{ metric: "exact", value }] as unknown as Mean[];

test("a line for each model, oldest run first; what has no meanOf or is not over is left out", () => {
  const runs = [run("b", "m", "2026-02-02"), run("a", "m", "2026-01-01"), run("c", "n", "2026-01-01", "failed")];
  const means = { a: meanOf(0.5), b: meanOf(0.7), c: meanOf(0.1) };
  expect([...datasetsOf(runs, means)]).toEqual([["live", ["exact"]]]);
  expect(
    linesOf(runs, means, "live", "exact").map(({ model, points }) => [model, points.map((p) => p.run.id)]),
  ).toEqual([["m", ["a", "b"]]]);
  expect(linesOf(runs, { a: meanOf(null) }, "live", "exact")).toEqual([]);
});
