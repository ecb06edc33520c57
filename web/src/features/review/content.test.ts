import { describe, expect, it } from "vitest";
import { applyEdit, changesOf, contentOf } from "./content";
import type { Case } from "./queue/data";

const entry = {
  id: "c/1",
  input: "Retry uploads",
  base_commit: "abc1234",
  paths: [{ path: "a.go", sources: ["manual"], extra: { changeType: "add" } }],
  ranges: [{ path: "a.go", start: 3, end: 5, sources: ["golden_diff"], blob: "b10b", text_hash: null, extra: {} }],
  provenance: { flow_id: "f", case_index: 1 },
} as unknown as Case;

describe("a stored context case", () => {
  it("comes back from the editor with only what was changed, blobs of untouched ranges kept", () => {
    const content = contentOf(entry);
    const fresh = { path: "b.go", startLine: 1, endLine: 2, sources: ["manual"] };
    const changes = changesOf(content, applyEdit(content, { type: "addEntry", list: "lineRanges", entry: fresh }));
    expect(Object.keys(changes)).toEqual(["ranges"]);
    expect(changes.ranges).toMatchObject([
      { start: 3, end: 5, blob: "b10b" },
      { path: "b.go", start: 1, end: 2, blob: null },
    ]);
  });

  it("does not change when it was not edited", () => {
    const content = contentOf(entry);
    expect(changesOf(content, content)).toEqual({});
  });
});
