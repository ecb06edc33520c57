/** Builders for the tests: valid rows with defaults, of which a test states only what it is about. */

import type { Content, JsonObject } from "../content";
import { applyPlan, type Choice, joinRows, planImport } from "./imports";
import { parseFile } from "./rows";
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

/** The session with another query in a case. */
export const askedIn = (session: Session, key: string, value: string) =>
  reduce(session, { type: "edit", key, edit: { type: "setField", field: "query", value } });

/** The session with cases marked as validated. */
export const validatedIn = (session: Session, ...keys: string[]) =>
  keys.reduce((now, key) => reduce(now, { type: "validate", key }), session);

export function aSession(...caseIds: string[]): Session {
  return imported(
    EMPTY,
    caseIds.flatMap((id) => [aRowA(id), aRowB(id)]),
  );
}
