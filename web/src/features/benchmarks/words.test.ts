import { describe, expect, it } from "vitest";
import type { Run } from "./data";
import { compareViewOf } from "./view";
import { meanInWords, money, remaining } from "./words";

const mean = { metric: "m", value: 0.5, low: 0.4, high: 0.6, n: 9, of: 10 };

describe("numbers of a run", () => {
  it("says a mean with its spread and what it rests on", () => {
    expect(meanInWords(mean)).toBe("0.500 ±0.100 (n=9/10, 1 unscored)");
    expect(meanInWords({ ...mean, value: null, low: null, high: null, n: 0 })).toBe("– (n=0/10)");
    const lopsided = { ...mean, value: 0.125, low: 0.022, high: 0.471 };
    expect(meanInWords(lopsided)).toBe("0.125 [0.022, 0.471] (n=9/10, 1 unscored)");
  });
  it("does not call an unknown price free", () => {
    expect(money(null)).toBe("unknown");
    expect(money(0)).toBe("$0.0000");
  });
  it("tells what remains only once something is done", () => {
    const run = { started_at: "2026-01-01T00:00:00Z", done: 10, total: 30 } as Run;
    expect(remaining(run, Date.parse("2026-01-01T00:00:10Z"))).toBe(20_000);
    expect(remaining({ ...run, done: 0 })).toBeNull();
  });
  it("reads one run or several from the address", () => {
    expect(compareViewOf({ runs: "a" })).toEqual({ runs: ["a"] });
    expect(compareViewOf({ runs: ["a", 3, "b"] })).toEqual({ runs: ["a", "b"] });
    expect(compareViewOf({})).toEqual({ runs: [] });
  });
});
