import { describe, expect, it, test } from "vitest";
import { applyEdit, changesOf, contentOf } from "./content";
import type { Case, CaseFile } from "./queue/data";
import { undoOf } from "./queue/drafts";

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

const chat = { dataset: "live", id: "c1", entry_type: "failure", expected: null } as unknown as Case;
const file = (...opinions: object[]) => ({ case: chat, opinions }) as unknown as CaseFile;

test("a first verdict is withdrawn, and the fields it changed go back", () => {
  const decision = { verdict: "approve" as const, changes: { entry_type: "correction" } };
  expect(undoOf({ before: file(), decision }, "ana")).toEqual({
    verdict: "withdraw",
    changes: { entry_type: "failure" },
    adjudicate: false,
  });
});

test("a changed mind changes back to the word before", () => {
  const before = file(
    { reviewer: "ana", verdict: "approve", adjudicate: false },
    { reviewer: "bo", verdict: "dismiss" },
  );
  const decision = { verdict: "dismiss" as const };
  expect(undoOf({ before, decision }, "ana").verdict).toBe("approve");
  expect(undoOf({ before, decision: { verdict: "reopen" } }, "ana").verdict).toBe("withdraw");
});
