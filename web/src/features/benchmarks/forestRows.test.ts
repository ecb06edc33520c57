import { expect, test } from "vitest";
import type { Comparison } from "./data";
import { forestRows, limitOf, ratioLimitOf } from "./forestRows";

const metric = {
  metric: "exact_match",
  n: 91,
  groups: 91,
  unpaired: 0,
  first: 0.5,
  second: 0.64,
  difference: 0.14,
  low: 0.07,
  high: 0.21,
  verdict: "better",
  without_errors: "inconclusive",
  answered_by_both: 77,
  coverage: 1,
};
const side = { attempts: 91, errors: 14, failed: 0, truncated: 0 };
const compared = {
  first: "a",
  second: "b",
  margin: 0.03,
  metrics: [metric],
  sides: [side, { ...side, errors: 0 }],
  figures: [
    { name: "errors", unit: "share", first: 14 / 91, second: 0, difference: 14 / 91, low: 0.09, high: 0.24, n: 91 },
    { name: "cost", unit: "$", first: null, second: 0.2, ratio: null, low: null, high: null },
    { name: "latency", unit: "ms", first: 1000, second: 500, ratio: 0.5, low: 0.4, high: 0.65, n: 77 },
  ],
  warnings: [],
} as unknown as Comparison;

test("right of the line is better in every row, and what is unknown has no place and is no zero", () => {
  const [quality, errors, cost, latency] = forestRows([compared], new Map([["b", "good"]]));
  expect(quality).toMatchObject({ measure: "exact_match", tone: "better", words: "+0.140", candidate: "good" });
  expect(quality?.place).toBeCloseTo(0.14 / 0.3);
  expect(quality?.note).toBe("91 cases · not decided on the 77 both answered");
  expect(errors).toMatchObject({ first: "14 of 91", second: "0 of 91", words: "14 fewer", tone: "better" });
  expect(errors?.place).toBeCloseTo(14 / 91 / 0.3);
  expect(errors?.interval).toBe("−24.0 % to −9.0 %");
  expect(cost).toMatchObject({ first: "unknown", words: "unknown", verdict: "unknown", place: null });
  expect(latency).toMatchObject({ tone: "better", verdict: "faster", words: "×0.5" });
  expect(latency?.note).toBe("median of the 77 cases both answered");
  expect(latency?.place).toBeGreaterThan(0);
  expect(latency?.low).toBeLessThan(latency?.high as number);
});

test("axes end at a round number that holds every interval", () => {
  expect(limitOf([compared])).toBe(0.3);
  expect(ratioLimitOf([compared])).toBe(3);
});
