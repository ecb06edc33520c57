import { describe, expect, it } from "vitest";
import { byDataset, type CaseDetail, oneOf, referenceOrigin, repeatsLine } from "./data";
import { changedFields, changesOf } from "./edits";

const draft = { input: "q", output: "a", expected: "", tags: ["x"], assertions: [] };

describe("an edited case", () => {
  it("sends only what was changed, and an emptied text as none", () => {
    const after = { ...draft, output: "", tags: ["x", "y"] };
    expect(changedFields(draft, after)).toEqual(["output", "tags"]);
    expect(changesOf(after, ["output", "tags"])).toEqual({ output: null, tags: ["x", "y"] });
  });
});

const from = (origin: string | null, trace_id: string | null = null) =>
  referenceOrigin({
    reference_answer: origin && { text: "Lima.", origin },
    revised: { text: "Lima.", trace_id },
  } as CaseDetail);

describe("the origin of a reference", () => {
  it("has words for every origin", () => {
    expect(from("person")).toContain("person");
    expect(from("source")).toContain("source");
    expect(from("confirmed")).toContain("confirmed");
    expect(from("candidate")).toContain("nobody");
    expect(from("revised")).toContain("correction");
    expect(from("revised", "t9")).toContain("assistant");
    expect(from(null)).toContain("No reference");
  });
});

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
