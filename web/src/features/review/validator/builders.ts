/** Builders for the tests: valid rows with defaults, of which a test states only what it is about. */
import { parseFile } from "./importJsonl";
import { joinRows } from "./join";
import { applyPlan, type Choice, planImport } from "./reimport";
import type { Content, JsonObject } from "./rows";
import { EMPTY, reduce, type Session } from "./session";

const SHARED = {
  workspaceId: "ws-1",
  taskId: "task-1",
  flowId: "flow-1",
  caseIndex: 0,
  query: "Add retries",
  baseCommit: "abc1234def",
  needsQuery: false,
  needsBaseCommit: false,
};

export function aRowA(caseId: string, over: JsonObject = {}): JsonObject {
  return {
    ...SHARED,
    caseId,
    filePaths: [
      { path: "pkg/a.go", sources: ["review_merge_diff"] },
      { path: "pkg/b.go", sources: ["diff"] },
    ],
    ...over,
  };
}

export function aRowB(caseId: string, over: JsonObject = {}): JsonObject {
  return {
    ...SHARED,
    caseId,
    lineRanges: [{ path: "pkg/a.go", startLine: 3, endLine: 9, sources: ["golden_diff"] }],
    ...over,
  };
}

export const jsonl = (...rows: (JsonObject | string)[]) =>
  rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");

export function contentsOf(...rows: JsonObject[]): Content[] {
  return joinRows([parseFile("rows.jsonl", jsonl(...rows))]).contents;
}

export function imported(session: Session, rows: JsonObject[], chosen: { [key: string]: Choice } = {}): Session {
  const plan = planImport(session, contentsOf(...rows));
  return reduce(session, { type: "put", label: "import", states: applyPlan(session, plan, chosen) });
}

export function aSession(...caseIds: string[]): Session {
  return imported(
    EMPTY,
    caseIds.flatMap((id) => [aRowA(id), aRowB(id)]),
  );
}
