/** A stored context case ↔ the content the validator's editor works on, so that both pages edit with the same parts. */
import type { Content, Json, JsonObject, PathEntry, RangeEntry } from "../validator/rows";
import type { CaseState, Session } from "../validator/session";
import type { Case, Changes } from "./data";

const json = (value: unknown) => value as Json;

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

const rest = (entry: JsonObject, taken: string[]) =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => !taken.includes(key)));

function pathOf(entry: PathEntry): Changes {
  return { path: entry.path, sources: entry.sources, extra: rest(entry, ["path", "sources"]) };
}

function rangeOf(entry: RangeEntry): Changes {
  return {
    path: entry.path,
    start: entry.startLine,
    end: entry.endLine,
    sources: entry.sources,
    blob: json(entry.blobSha ?? null),
    text_hash: json(entry.textHash ?? null),
    extra: rest(entry, ["path", "sources", "startLine", "endLine", "blobSha", "textHash"]),
  };
}

/** Only what an action of the editor changed, as fields of the case. */
export function changesOf(before: Content, after: Content): Changes {
  const changes: Changes = {};
  if (before.query !== after.query) changes.input = after.query;
  if (before.baseCommit !== after.baseCommit) changes.base_commit = after.baseCommit;
  if (before.filePaths !== after.filePaths) changes.paths = (after.filePaths ?? []).map(pathOf);
  if (before.lineRanges !== after.lineRanges) changes.ranges = (after.lineRanges ?? []).map(rangeOf);
  return changes;
}

/** A session of this one case: what the editor's reducer takes. */
export function sessionOf(content: Content): Session {
  const key = content.identity.caseId;
  const state: CaseState = { imported: content, content, validated: false };
  return { cases: { [key]: state }, order: [key], current: key, past: [], future: [] };
}
