import { expect, it, test } from "vitest";
import type { Question } from "../queue/data";
import { characterAt, named, passage, pieces, withMark, withoutMark } from "./questions";

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

const asked = (title: string, name = "") => ({ title, name, kind: "yes_no" }) as Question;

it("names each question after its title, and numbers what would be called the same", () => {
  const questions = [asked("Is it polite?"), asked("هل هو مهذب؟"), asked("是否礼貌？"), asked("Is it polite?!")];
  expect(named(questions).map(({ name }) => name)).toEqual([
    "is_it_polite",
    "question",
    "question_2",
    "is_it_polite_2",
  ]);
});

it("leaves names that answers already have", () => {
  expect(named([asked("Polite?", "is_it_polite"), asked("Is it polite?")]).map(({ name }) => name)).toEqual([
    "is_it_polite",
    "is_it_polite_2",
  ]);
});
