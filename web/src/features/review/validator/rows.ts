/**
 * JSONL text → dataset A and B rows, with every fault named by file, line and field.
 *
 * One bad line never sinks the file: good rows are offered, bad ones are listed. A null where a list belongs is what
 * some encoders write for an empty list, so it is read as one and said; anything else of the wrong type refuses the row.
 */

import {
  type CaseIdentity,
  type Content,
  type Json,
  type JsonObject,
  type ListName,
  lacks,
  type PathEntry,
  type RangeEntry,
  SHARED_KEYS,
} from "../content";
import { foreignRow, foreignText } from "./formats";
import type { CaseState, Session } from "./session";

export interface Problem {
  file: string;
  line: number | null;
  field: string | null;
  message: string;
  /** "refused": the row is not offered. "repaired": it is, with the change described. "note": it is, as it stands. */
  effect: "refused" | "repaired" | "note";
}

export interface Row {
  file: string;
  line: number;
  list: ListName;
  identity: CaseIdentity;
  query: string;
  baseCommit: string;
  entries: PathEntry[] | RangeEntry[];
  extra: JsonObject;
}

export interface ParsedFile {
  file: string;
  kind: "A" | "B" | "A and B" | "other";
  rows: Row[];
  problems: Problem[];
}

type Report = (field: string | null, message: string, effect: Problem["effect"]) => void;

class RowRefused extends Error {}

function show(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function refuse(report: Report, field: string, message: string): never {
  report(field, message, "refused");
  throw new RowRefused();
}

function text(row: JsonObject, field: string, report: Report): string {
  const value = row[field];
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") return refuse(report, field, `expected text, found ${show(value)}`);
  return value;
}

function integer(row: JsonObject, field: string, where: string, report: Report): number {
  const value = row[field];
  if (typeof value !== "number" || !Number.isInteger(value)) {
    return refuse(report, where, `expected a whole number, found ${show(value)}`);
  }
  return value;
}

function list(value: Json | undefined, field: string, report: Report): Json[] {
  if (value === null || value === undefined) {
    report(field, `expected a list, found ${show(value)}; read as an empty list`, "repaired");
    return [];
  }
  if (!Array.isArray(value)) return refuse(report, field, `expected a list, found ${show(value)}`);
  return value;
}

function entry(value: Json, where: string, name: ListName, report: Report): PathEntry | RangeEntry {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse(report, where, `expected an object with a path, found ${show(value)}`);
  }
  if (typeof value.path !== "string")
    return refuse(report, `${where}.path`, `expected text, found ${show(value.path)}`);
  const sources = list(value.sources, `${where}.sources`, report).map((source, index) =>
    typeof source === "string"
      ? source
      : refuse(report, `${where}.sources[${index}]`, `expected text, found ${show(source)}`),
  );
  if (name === "filePaths") return { ...value, path: value.path, sources };
  const startLine = integer(value, "startLine", `${where}.startLine`, report);
  const endLine = integer(value, "endLine", `${where}.endLine`, report);
  if (startLine < 1) return refuse(report, `${where}.startLine`, `lines count from 1, found ${startLine}`);
  if (endLine < startLine) return refuse(report, `${where}.endLine`, `${endLine} is before startLine ${startLine}`);
  return { ...value, path: value.path, startLine, endLine, sources };
}

function identity(row: JsonObject, report: Report): CaseIdentity {
  const caseId = text(row, "caseId", report);
  if (caseId.trim() === "") refuse(report, "caseId", "a row needs a caseId; without it it belongs to no case");
  const caseIndex =
    row.caseIndex === undefined || row.caseIndex === null ? 0 : integer(row, "caseIndex", "caseIndex", report);
  const named = (field: string) => text(row, field, report);
  return { workspaceId: named("workspaceId"), taskId: named("taskId"), flowId: named("flowId"), caseId, caseIndex };
}

function readRow(row: JsonObject, name: ListName, at: { file: string; line: number }, report: Report): Row {
  const known = new Set<string>([...SHARED_KEYS, name]);
  return {
    ...at,
    list: name,
    identity: identity(row, report),
    query: text(row, "query", report),
    baseCommit: text(row, "baseCommit", report),
    entries: list(row[name], name, report).map((value, index) =>
      entry(value, `${name}[${index}]`, name, report),
    ) as Row["entries"],
    extra: Object.fromEntries(Object.entries(row).filter(([key]) => !known.has(key))),
  };
}

function rowKind(row: JsonObject, report: Report): ListName {
  if ("filePaths" in row && "lineRanges" in row)
    return refuse(report, "lineRanges", "a row holds filePaths or lineRanges, not both");
  if ("filePaths" in row) return "filePaths";
  if ("lineRanges" in row) return "lineRanges";
  const foreign = foreignRow(row);
  return refuse(report, "filePaths", foreign ?? "has neither filePaths (dataset A) nor lineRanges (dataset B)");
}

function parseLine(source: string, at: { file: string; line: number }, report: Report): Row | null {
  try {
    let value: Json;
    try {
      value = JSON.parse(source) as Json;
    } catch (fault) {
      report(null, `not valid JSON: ${(fault as Error).message.slice(0, 160)}`, "refused");
      return null;
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      report(null, `expected a JSON object, found ${show(value)}`, "refused");
      return null;
    }
    return readRow(value, rowKind(value, report), at, report);
  } catch (fault) {
    if (fault instanceof RowRefused) return null;
    throw fault;
  }
}

/** Two rows of one case in one dataset: the first is kept, the second is named. */
function withoutRepeats(rows: Row[], problems: Problem[]): Row[] {
  const first = new Map<string, Row>();
  for (const row of rows) {
    const key = `${row.list} ${row.identity.caseId}`;
    const earlier = first.get(key);
    if (earlier === undefined) {
      first.set(key, row);
      continue;
    }
    const bare = ({ file: _file, line: _line, ...content }: Row) => JSON.stringify(content);
    const message =
      bare(earlier) === bare(row)
        ? `repeats case ${row.identity.caseId} of line ${earlier.line} exactly; one is kept`
        : `gives case ${row.identity.caseId} again with other content; line ${earlier.line} is kept, this one is left out`;
    problems.push({ file: row.file, line: row.line, field: "caseId", message, effect: "refused" });
  }
  return [...first.values()];
}

/** A file in which not one row is ours is explained once, not once a line. */
function explainForeign(file: string, problems: Problem[]): Problem[] {
  const first = problems.find((problem) => problem.effect === "refused");
  if (first === undefined) return problems;
  const alike = problems.filter((problem) => problem.message === first.message).length;
  if (alike < 2) return problems;
  const rest = problems.filter((problem) => problem.message !== first.message);
  return [{ ...first, file, message: `${first.message} (${alike} lines like this)` }, ...rest];
}

export function parseFile(file: string, content: string): ParsedFile {
  const body = content.startsWith("\ufeff") ? content.slice(1) : content;
  const foreign = foreignText(body);
  const lines = body.split("\n");
  if (foreign !== null && !lines.some((line) => line.startsWith("{") && line.trimEnd().endsWith("}"))) {
    return {
      file,
      kind: "other",
      rows: [],
      problems: [{ file, line: null, field: null, message: foreign, effect: "refused" }],
    };
  }
  const problems: Problem[] = [];
  const parsed: Row[] = [];
  lines.forEach((source, index) => {
    if (source.trim() === "") return;
    const at = { file, line: index + 1 };
    const row = parseLine(source, at, (field, message, effect) => problems.push({ ...at, field, message, effect }));
    if (row !== null) parsed.push(row);
  });
  const rows = withoutRepeats(parsed, problems);
  const kinds = new Set(rows.map((row) => row.list));
  if (kinds.size === 0) return { file, kind: "other", rows, problems: explainForeign(file, problems) };
  return { file, kind: kinds.size === 2 ? "A and B" : kinds.has("filePaths") ? "A" : "B", rows, problems };
}

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

/** Validated, complete cases → the two JSONL files; every case left out is listed with what it lacks. */
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
