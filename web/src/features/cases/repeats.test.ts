import { describe, expect, it } from "vitest";
import { byDataset, oneOf, repeatsLine } from "./repeats";

describe("repeats of a question", () => {
  it("asks for the ids of each dataset apart", () => {
    const rows = [
      { dataset: "live", id: "a" },
      { dataset: "faq", id: "a" },
      { dataset: "live", id: "b" },
    ];
    expect([...byDataset(rows)]).toEqual([
      ["live", ["a", "b"]],
      ["faq", ["a"]],
    ]);
  });

  it("counts in words", () => {
    expect(oneOf({ cases: 3, examples: [] })).toBe("one of 3 repeats");
    const counts = { cases: 12, looked_at: 12, questions: 1, repeating: 3 };
    expect(repeatsLine(counts)).toBe("1 question is asked more than once, by 3 cases");
    expect(repeatsLine({ ...counts, questions: 0, repeating: 0 })).toBeUndefined();
    expect(repeatsLine({ ...counts, cases: 20_000, looked_at: 10_000, questions: 2 })).toContain("among the newest");
  });
});
