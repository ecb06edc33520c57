/**
 * The content of a context case as a reviewer edits it, wherever it is kept: in files or in the workspace.
 *
 * Dataset A (file paths) and dataset B (line ranges) describe the same case twice; a reviewer thinks of it once. So the
 * rows are joined into a `Content` on import and split again on export; a stored case is read as one and its changes are
 * sent as fields. Keys nobody here knows stay where they were found (`extraA`, `extraB`, and on the entries themselves),
 * so a round trip loses nothing.
 */
import type { Case, Changes } from "./queue/data";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface PathEntry {
  path: string;
  sources: string[];
  [extra: string]: Json;
}

export interface RangeEntry {
  path: string;
  startLine: number;
  endLine: number;
  sources: string[];
  [extra: string]: Json;
}

export interface CaseIdentity {
  workspaceId: string;
  taskId: string;
  flowId: string;
  caseId: string;
  caseIndex: number;
}

/** What a reviewer edits. A half is null when no row of that dataset was imported for the case. */
export interface Content {
  identity: CaseIdentity;
  query: string;
  baseCommit: string;
  filePaths: PathEntry[] | null;
  lineRanges: RangeEntry[] | null;
  extraA: JsonObject;
  extraB: JsonObject;
}

export type ListName = "filePaths" | "lineRanges";
export type Entry = PathEntry | RangeEntry;

const PATH_SOURCES = ["review_merge_diff", "tool_call_args", "tool_call_result", "diff", "manual"] as const;
const RANGE_SOURCES = ["golden_diff", "tool_call_args", "tool_call_result", "manual"] as const;
export const SOURCES: Record<ListName, readonly string[]> = { filePaths: PATH_SOURCES, lineRanges: RANGE_SOURCES };

export const SHARED_KEYS = [
  "workspaceId",
  "taskId",
  "flowId",
  "caseId",
  "caseIndex",
  "query",
  "baseCommit",
  "needsQuery",
  "needsBaseCommit",
] as const;

/** Facts that were derived from a path or commit and are no longer true once it is edited. */
const DERIVED_FROM_PATH = ["blobSha", "changeType"] as const;
const DERIVED_FROM_COMMIT = ["baseVerified", "baseOverride"] as const;

const COMMIT = /^[0-9a-f]{7,64}$/i;

function pathFault(path: string): string | null {
  if (path.trim() === "") return "has no path";
  if (path.startsWith("/")) return `path ${path} is absolute; paths are relative to the repository`;
  if (path.split("/").includes("..")) return `path ${path} leaves the repository`;
  return null;
}

function repeated(names: string[]): string[] {
  const seen = new Set<string>();
  return names.filter((name) => seen.size === seen.add(name).size);
}

function rangeFault(range: RangeEntry): string | null {
  if (!Number.isInteger(range.startLine) || range.startLine < 1) return "needs a start line of 1 or more";
  if (!Number.isInteger(range.endLine) || range.endLine < range.startLine) {
    return `ends at line ${range.endLine}, before its start ${range.startLine}`;
  }
  return null;
}

function listFaults(name: string, entries: Entry[], own: (entry: Entry) => string | null): string[] {
  return entries.flatMap((entry, index) => {
    const fault = pathFault(entry.path) ?? own(entry) ?? (entry.sources.length === 0 ? "has no source" : null);
    return fault === null ? [] : [`${name} ${index + 1} ${fault}`];
  });
}

/** What keeps a case from being validated, as sentences a reviewer can act on; empty when it is complete. */
export function lacks(content: Content): string[] {
  const found: string[] = [];
  if (content.query.trim() === "") found.push("query is empty");
  if (content.baseCommit.trim() === "") found.push("base commit is empty");
  else if (!COMMIT.test(content.baseCommit.trim())) found.push("base commit is not a commit hash (7 to 64 hex digits)");
  if (content.filePaths !== null) {
    if (content.filePaths.length === 0) found.push("no file path is listed");
    found.push(...listFaults("file path", content.filePaths, () => null));
    found.push(
      ...repeated(content.filePaths.map((entry) => entry.path)).map((path) => `file path ${path} is listed twice`),
    );
  }
  if (content.lineRanges !== null) {
    found.push(...listFaults("line range", content.lineRanges, (entry) => rangeFault(entry as RangeEntry)));
  }
  return found;
}

/** Equality of JSON values; the order of object keys does not matter, the order of lists does. */
export function sameJson(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [a, b] = [left as JsonObject, right as JsonObject];
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && sameJson(a[key], b[key]));
}

export function sameContent(left: Content, right: Content): boolean {
  return sameJson(left as unknown as Json, right as unknown as Json);
}

/** One change of a content: what the editor and the evidence ask for. */
export type Edit =
  | { type: "setField"; field: "query" | "baseCommit"; value: string }
  | { type: "addEntry"; list: ListName; entry: Entry }
  | { type: "editEntry"; list: ListName; index: number; patch: Partial<Entry> }
  | { type: "removeEntry"; list: ListName; index: number }
  | { type: "moveEntry"; list: ListName; from: number; to: number }
  | { type: "createHalf"; list: ListName };

const without = (record: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));

/** The content after an edit; the very same where the edit changes nothing. */
export function applyEdit(content: Content, edit: Edit): Content {
  const after =
    edit.type === "setField" ? setField(content, edit.field, edit.value) : editList(content, edit.list, edit);
  return sameContent(after, content) ? content : after;
}

function setField(content: Content, field: "query" | "baseCommit", value: string): Content {
  if (field === "query") return { ...content, query: value };
  return {
    ...content,
    baseCommit: value,
    extraA: without(content.extraA, DERIVED_FROM_COMMIT),
    extraB: without(content.extraB, DERIVED_FROM_COMMIT),
  };
}

function editList(content: Content, list: ListName, edit: Exclude<Edit, { type: "setField" }>): Content {
  const entries: Entry[] | null = content[list];
  if (edit.type === "createHalf") return entries === null ? { ...content, [list]: [] } : content;
  return entries === null ? content : ({ ...content, [list]: editEntries(entries, edit) } as Content);
}

function editEntries(entries: Entry[], edit: Exclude<Edit, { type: "setField" | "createHalf" }>): Entry[] {
  switch (edit.type) {
    case "addEntry":
      return [...entries, edit.entry];
    case "editEntry":
      return entries.map((entry, index) => (index === edit.index ? patchEntry(entry, edit.patch) : entry));
    case "removeEntry":
      return entries.filter((_, index) => index !== edit.index);
    case "moveEntry":
      return moveEntry(entries, edit.from, edit.to);
  }
}

function patchEntry(entry: Entry, patch: Partial<Entry>): Entry {
  const moved = patch.path !== undefined && patch.path !== entry.path;
  return { ...(moved ? without(entry, DERIVED_FROM_PATH) : entry), ...patch } as Entry;
}

function moveEntry(entries: Entry[], from: number, to: number): Entry[] {
  const target = Math.max(0, Math.min(entries.length - 1, to));
  const rest = entries.filter((_, index) => index !== from);
  const entry = entries[from];
  return entry === undefined ? entries : [...rest.slice(0, target), entry, ...rest.slice(target)];
}

/** The content of a stored case. */
export function contentOf(entry: Case): Content {
  const origin = entry.provenance;
  return {
    identity: {
      workspaceId: origin.workspace_id ?? "",
      taskId: origin.task_id ?? "",
      flowId: origin.flow_id ?? "",
      caseId: entry.id,
      caseIndex: origin.case_index ?? 0,
    },
    query: entry.input,
    baseCommit: entry.base_commit ?? "",
    filePaths: entry.paths.map(
      ({ path, sources, extra }): PathEntry => ({ ...(extra as JsonObject), path, sources: [...sources] }),
    ),
    lineRanges: entry.ranges.map(
      ({ path, start, end, sources, blob, text_hash, extra }): RangeEntry => ({
        ...(extra as JsonObject),
        ...(blob == null ? {} : { blobSha: blob }),
        ...(text_hash == null ? {} : { textHash: text_hash }),
        path,
        startLine: start,
        endLine: end,
        sources: [...sources],
      }),
    ),
    extraA: {},
    extraB: {},
  };
}

function pathOf(entry: PathEntry): Changes {
  return { path: entry.path, sources: entry.sources, extra: without(entry, ["path", "sources"]) };
}

function rangeOf(entry: RangeEntry): Changes {
  return {
    path: entry.path,
    start: entry.startLine,
    end: entry.endLine,
    sources: entry.sources,
    blob: entry.blobSha ?? null,
    text_hash: entry.textHash ?? null,
    extra: without(entry, ["path", "sources", "startLine", "endLine", "blobSha", "textHash"]),
  };
}

/** Only what an edit changed, as fields of the stored case. */
export function changesOf(before: Content, after: Content): Changes {
  const changes: Changes = {};
  if (before.query !== after.query) changes.input = after.query;
  if (before.baseCommit !== after.baseCommit) changes.base_commit = after.baseCommit;
  if (before.filePaths !== after.filePaths) changes.paths = (after.filePaths ?? []).map(pathOf);
  if (before.lineRanges !== after.lineRanges) changes.ranges = (after.lineRanges ?? []).map(rangeOf);
  return changes;
}
