/** Validated, complete cases → the two JSONL files; every case left out is listed with what it lacks. */
import { type Content, type JsonObject, lacks } from "./rows";
import type { CaseState, Session } from "./session";

interface LeftOut {
  caseId: string;
  lacks: string[];
}

interface Exported {
  a: string;
  b: string;
  counts: { a: number; b: number };
  leftOut: LeftOut[];
}

export const EXPORT_NAMES = {
  a: "dataset_a_file_paths.validated.jsonl",
  b: "dataset_b_line_ranges.validated.jsonl",
} as const;

function sharedFields(content: Content): JsonObject {
  const { workspaceId, taskId, flowId, caseId, caseIndex } = content.identity;
  return {
    workspaceId,
    taskId,
    flowId,
    caseId,
    caseIndex,
    query: content.query.trim(),
    baseCommit: content.baseCommit.trim(),
  };
}

export function rowA(content: Content): JsonObject | null {
  return content.filePaths === null
    ? null
    : { ...sharedFields(content), filePaths: content.filePaths, ...content.extraA };
}

export function rowB(content: Content): JsonObject | null {
  return content.lineRanges === null
    ? null
    : { ...sharedFields(content), lineRanges: content.lineRanges, ...content.extraB };
}

function whyLeftOut(state: CaseState): string[] {
  const missing = lacks(state.content);
  return missing.length > 0 ? missing : state.validated ? [] : ["not marked as validated yet"];
}

const jsonl = (rows: (JsonObject | null)[]) => {
  const lines = rows.filter((row) => row !== null).map((row) => `${JSON.stringify(row)}\n`);
  return { text: lines.join(""), count: lines.length };
};

export function exportSession(session: Session): Exported {
  const states = session.order.map((key) => session.cases[key] as CaseState);
  const ready = states.filter((state) => whyLeftOut(state).length === 0).map((state) => state.content);
  const leftOut = states
    .map((state) => ({ caseId: state.content.identity.caseId, lacks: whyLeftOut(state) }))
    .filter((left) => left.lacks.length > 0);
  const [a, b] = [jsonl(ready.map(rowA)), jsonl(ready.map(rowB))];
  return { a: a.text, b: b.text, counts: { a: a.count, b: b.count }, leftOut };
}
