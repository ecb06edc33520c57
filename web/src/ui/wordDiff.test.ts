import { expect, test } from "vitest";
import { differences } from "./wordDiff";

const marked = (first: string, second: string) =>
  differences(first, second)
    .filter(({ differs }) => differs)
    .map(({ text }) => text.trim());

test("words that the first text lacks are marked, and the text stays whole", () => {
  const pieces = differences("Refunds take three days.", "Refunds take about ten days.");
  expect(pieces.map(({ text }) => text).join("")).toBe("Refunds take about ten days.");
  expect(marked("Refunds take three days.", "Refunds take about ten days.")).toEqual(["about ten"]);
});

test("equal texts have no mark, and blanks alone are no difference", () => {
  expect(marked("a  b\nc", "a b c")).toEqual([]);
  expect(differences("x", "")).toEqual([]);
});

test("text without blanks is compared character by character", () => {
  expect(marked("我的订阅", "我的退款")).toEqual(["退款"]);
});

test("texts too long to compare come back whole", () => {
  const long = "word ".repeat(5_000);
  expect(differences(long, `${long}end`)).toEqual([{ text: `${long}end`, differs: false }]);
});
