import { describe, expect, it } from "vitest";
import { changedFields, changesOf } from "./edits";

const draft = { input: "q", output: "a", expected: "", tags: ["x"] };

describe("an edited case", () => {
  it("sends only what was changed, and an emptied text as none", () => {
    const after = { ...draft, output: "", tags: ["x", "y"] };
    expect(changedFields(draft, after)).toEqual(["output", "tags"]);
    expect(changesOf(after, ["output", "tags"])).toEqual({ output: null, tags: ["x", "y"] });
  });
});
