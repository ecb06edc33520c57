import { describe, expect, it } from "vitest";
import { referenceText, remarkText, statedAnswer } from "./reference";

const correction = { entry_type: "correction", output: "April.", expected: "no, later" } as const;
const revised = { text: "Since May.", trace_id: "t2" };

describe("the reference of a case", () => {
  it("is never the remark of a user", () => {
    expect(referenceText(correction)).toBe("");
    expect(remarkText(correction)).toBe("no, later");
    expect(referenceText({ ...correction, revised })).toBe("Since May.");
  });
  it("is what a person wrote, also where that is nothing", () => {
    expect(referenceText({ ...correction, revised, approved: { text: "In May." } })).toBe("In May.");
    expect(statedAnswer({ ...correction, revised, approved: { text: "" } })).toBe("");
  });
  it("is the answer that was sent as the correction, which is then no remark", () => {
    const sent = { ...correction, expected: "Since May.", revised: { text: "Since May." } };
    expect([referenceText(sent), remarkText(sent)]).toEqual(["Since May.", ""]);
  });
  it("is the source's, else the recorded answer of a golden case", () => {
    expect(referenceText({ entry_type: "golden", output: "May.", expected: null })).toBe("May.");
    expect(referenceText({ entry_type: "golden", output: "May.", expected: "In May." })).toBe("In May.");
    expect(referenceText({ entry_type: "failure", output: "April." })).toBe("");
  });
});
