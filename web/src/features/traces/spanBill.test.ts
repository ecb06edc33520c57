import { expect, it } from "vitest";
import { billOf } from "./spanBill";

it("says tokens and cost where they were recorded, and nothing where not", () => {
  expect(billOf({ input_tokens: 1200, output_tokens: 34, cost: 0.0123 })).toBe("1,234 tokens · $0.012");
  expect(billOf({ tokens: 12 })).toBe("12 tokens");
  expect(billOf({ tokens: "many", cost: Number.NaN })).toBe("");
  expect(billOf(null)).toBe("");
});
