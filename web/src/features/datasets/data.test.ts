import { expect, test } from "vitest";
import { readingOf } from "./data";

test("a RAG record and a frozen case are read alike", () => {
  const rag = {
    question: "Who?",
    reference_answer: "Ada [2].",
    contexts: ["[1] No.", "[2] Ada."],
    sources: ["a.txt", "b.txt"],
  };
  const frozen = {
    input: "Who?",
    expected: "Ada [2].",
    contexts: [
      { text: "[1] No.", source: "a.txt" },
      { text: "[2] Ada.", source: "b.txt" },
    ],
  };
  const contexts = [
    { text: "[1] No.", source: "a.txt", cited: false },
    { text: "[2] Ada.", source: "b.txt", cited: true },
  ];
  for (const record of [rag, frozen]) {
    expect(readingOf(record)).toEqual({ asked: "Who?", answer: "Ada [2].", contexts });
  }
});

test("a split of one's own is read by the fields it requires", () => {
  const record = { before: "teh", after: "the", rag_prompt: "", contexts: [] };
  expect(readingOf(record, ["before", "after"])).toEqual({ asked: "teh", answer: "the", contexts: [] });
});

test("a case without an expected answer shows its own, and a lost context keeps its place", () => {
  const record = { input: "Q", expected: null, output: "A [1]", contexts: [{ text: null, source: null }, "plain"] };
  expect(readingOf(record)).toEqual({
    asked: "Q",
    answer: "A [1]",
    contexts: [
      { text: "", source: "", cited: true },
      { text: "plain", source: "", cited: false },
    ],
  });
});
