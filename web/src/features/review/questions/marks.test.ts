import { expect, test } from "vitest";
import { characterAt, passage, pieces, withMark, withoutMark } from "./marks";

const TEXT = "👍 fine, 订阅 now";

test("a position of a text field is counted in characters", () => {
  expect(characterAt(TEXT, 3)).toBe(2);
  expect(passage(TEXT, { start: 2, end: 6, label: "x" })).toBe("fine");
  expect(passage(TEXT, { start: 8, end: 10, label: "x" })).toBe("订阅");
});

test("marks are kept in order and once", () => {
  const one = { start: 8, end: 10, label: "x" };
  const two = { start: 0, end: 1, label: "x" };
  expect(withMark(withMark([one], two), one)).toEqual([two, one]);
  expect(withoutMark([two, one], two)).toEqual([one]);
});

test("pieces give the whole text, whatever the marks", () => {
  const marks = [
    { start: 0, end: 4, label: "a" },
    { start: 2, end: 6, label: "b" },
    { start: 100, end: 200, label: "b" },
  ];
  expect(
    pieces(TEXT, marks)
      .map((piece) => piece.text)
      .join(""),
  ).toBe(TEXT);
  expect(pieces(TEXT, marks).map((piece) => piece.label)).toEqual(["a", "b", null]);
  expect(pieces("", [])).toEqual([]);
});
