/** Files chosen by the reviewer → what importing them would do: rows joined into cases, new, merged or to be chosen. */

import { type Content, type Json, type PathEntry, type RangeEntry, sameContent, sameJson } from "../content";
import { type ParsedFile, type Problem, parseFile, type Row } from "./rows";
import type { CaseState, Session } from "./session";

export interface Proposal {
  files: Pick<ParsedFile, "file" | "kind">[];
  rows: number;
  plan: ImportPlan;
  problems: Problem[];
}

/** Half pairs are only worth a word once both datasets are there: a file at a time is the normal way. */
function halfPairs(plan: ImportPlan, session: Session, kinds: Set<string>): Problem[] {
  const both = kinds.has("A and B") || (kinds.has("A") && kinds.has("B"));
  return plan.added.flatMap((content): Problem[] => {
    const message = missingHalf(content);
    if (message === null || (!both && session.order.length === 0)) return [];
    return [{ file: content.identity.caseId, line: null, field: null, message, effect: "note" }];
  });
}

export async function propose(session: Session, files: readonly File[]): Promise<Proposal> {
  const parsed = await Promise.all(files.map(async (file) => parseFile(file.name, await file.text())));
  const joined = joinRows(parsed);
  const plan = planImport(session, joined.contents);
  const halves = halfPairs(plan, session, new Set(parsed.map((file) => file.kind)));
  return {
    files: parsed.map(({ file, kind }) => ({ file, kind })),
    rows: parsed.reduce((sum, file) => sum + file.rows.length, 0),
    plan,
    problems: [...parsed.flatMap((file) => file.problems), ...joined.problems, ...halves],
  };
}

export const offered = (plan: ImportPlan) => plan.added.length + plan.updated.length + plan.clashes.length;

export function summary({ plan, rows }: Proposal): string {
  const parts = [
    [plan.added.length, "new"],
    [plan.updated.length, "updated"],
    [plan.clashes.length, "to decide"],
    [plan.unchanged.length, "unchanged"],
  ].flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  return `${rows} rows read: ${parts.join(", ") || "no case"}`;
}

interface Joined {
  contents: Content[];
  problems: Problem[];
}

function shared(first: Row, second: Row, field: "query" | "baseCommit", problems: Problem[]): string {
  const [mine, other] = [first[field], second[field]];
  if (mine === other || other === "") return mine;
  if (mine === "") return other;
  const message = `${field} differs from line ${first.line} of ${first.file}, whose value is used`;
  problems.push({ file: second.file, line: second.line, field, message, effect: "note" });
  return mine;
}

function pair(rowA: Row | undefined, rowB: Row | undefined, problems: Problem[]): Content {
  const first = (rowA ?? rowB) as Row;
  const second = rowB ?? first;
  return {
    identity: first.identity,
    query: shared(first, second, "query", problems),
    baseCommit: shared(first, second, "baseCommit", problems),
    filePaths: rowA === undefined ? null : (rowA.entries as PathEntry[]),
    lineRanges: rowB === undefined ? null : (rowB.entries as RangeEntry[]),
    extraA: rowA?.extra ?? {},
    extraB: rowB?.extra ?? {},
  };
}

function repeatedAcross(rows: Row[], problems: Problem[]): Map<string, Row> {
  const byCase = new Map<string, Row>();
  for (const row of rows) {
    const earlier = byCase.get(row.identity.caseId);
    if (earlier === undefined) {
      byCase.set(row.identity.caseId, row);
      continue;
    }
    const message = `case ${row.identity.caseId} is also in line ${earlier.line} of ${earlier.file}, which is kept`;
    problems.push({ file: row.file, line: row.line, field: "caseId", message, effect: "refused" });
  }
  return byCase;
}

/**
 * Join the rows of any number of files into one `Content` a case, in the order in which the cases first appear. Where the
 * two rows of a pair disagree on a shared field, A's value is used and the difference is named, because choosing silently
 * would hide that one of the files is wrong.
 */
export function joinRows(files: ParsedFile[]): Joined {
  const problems: Problem[] = [];
  const rows = files.flatMap((file) => file.rows);
  const a = repeatedAcross(
    rows.filter((row) => row.list === "filePaths"),
    problems,
  );
  const b = repeatedAcross(
    rows.filter((row) => row.list === "lineRanges"),
    problems,
  );
  const ids = [...new Set(rows.map((row) => row.identity.caseId))];
  return { contents: ids.map((id) => pair(a.get(id), b.get(id), problems)), problems };
}

/** Which half a case lacks, said so that the reviewer knows what to import. */
export function missingHalf(content: Content): string | null {
  if (content.filePaths === null) return "no row in dataset A (file paths) was imported for this case";
  if (content.lineRanges === null) return "no row in dataset B (line ranges) was imported for this case";
  return null;
}

const FIELDS = ["query", "baseCommit", "filePaths", "lineRanges", "extraA", "extraB"] as const;
export type Field = (typeof FIELDS)[number];
type Side = "mine" | "theirs";

interface FieldChange {
  field: Field;
  changed: "mine" | "theirs" | "both";
}

export interface Clash {
  key: string;
  state: CaseState;
  theirs: Content;
  fields: FieldChange[];
}

interface ImportPlan {
  added: Content[];
  /** Not edited here and changed in the file, or completed by the other half of the pair: taken without asking. */
  updated: { key: string; theirs: Content }[];
  unchanged: string[];
  clashes: Clash[];
}

export type Choice = Side | { [field in Field]?: Side };

const same = (left: Content[Field], right: Content[Field]) => sameJson(left as Json, right as Json);

/** A file of one dataset says nothing about the other half: what it does not hold is taken from the ancestor. */
function completed(theirs: Content, base: Content): Content {
  return {
    ...theirs,
    query: theirs.query === "" ? base.query : theirs.query,
    baseCommit: theirs.baseCommit === "" ? base.baseCommit : theirs.baseCommit,
    filePaths: theirs.filePaths ?? base.filePaths,
    lineRanges: theirs.lineRanges ?? base.lineRanges,
    extraA: theirs.filePaths === null ? base.extraA : theirs.extraA,
    extraB: theirs.lineRanges === null ? base.extraB : theirs.extraB,
  };
}

function changes(state: CaseState, theirs: Content): FieldChange[] {
  return FIELDS.flatMap((field): FieldChange[] => {
    const [base, mine, other] = [state.imported[field], state.content[field], theirs[field]];
    if (same(mine, other)) return [];
    const [byMe, byThem] = [!same(base, mine), !same(base, other)];
    return [{ field, changed: byMe && byThem ? "both" : byMe ? "mine" : "theirs" }];
  });
}

/**
 * A re-import never destroys edits. The last import is the common ancestor, the reviewer's content is one side, the new
 * file is the other: a field changed on one side only merges by itself, a field changed on both is a choice.
 */
export function planImport(session: Session, contents: Content[]): ImportPlan {
  const plan: ImportPlan = { added: [], updated: [], unchanged: [], clashes: [] };
  for (const incoming of contents) {
    const key = incoming.identity.caseId;
    const state = session.cases[key];
    if (state === undefined) {
      plan.added.push(incoming);
      continue;
    }
    const theirs = completed(incoming, state.imported);
    const fields = changes(state, theirs);
    const untouched = sameContent(state.content, state.imported) && !state.validated;
    const onlyNewHalf = fields.every(
      ({ field, changed }) =>
        changed !== "both" && (state.imported[field] === null || changed === "mine" || field.startsWith("extra")),
    );
    if (sameContent(theirs, state.imported)) plan.unchanged.push(key);
    else if (untouched || fields.length === 0 || onlyNewHalf) plan.updated.push({ key, theirs });
    else plan.clashes.push({ key, state, theirs, fields });
  }
  return plan;
}

function sideOf(change: FieldChange, choice: Choice): Side {
  if (typeof choice === "string") return choice;
  return choice[change.field] ?? (change.changed === "theirs" ? "theirs" : "mine");
}

/** The case after the choice; it stays validated only when its content did not change. */
function resolve(state: CaseState, theirs: Content, choice: Choice): CaseState {
  let content = state.content;
  for (const change of changes(state, theirs)) {
    if (sideOf(change, choice) === "theirs") content = { ...content, [change.field]: theirs[change.field] };
  }
  return { imported: theirs, content, validated: state.validated && sameContent(content, state.content) };
}

/** Everything the plan puts into the session; a clash without a choice keeps the reviewer's side where both changed. */
export function applyPlan(session: Session, plan: ImportPlan, chosen: { [key: string]: Choice }): Session["cases"] {
  const put: Session["cases"] = {};
  for (const content of plan.added) put[content.identity.caseId] = { imported: content, content, validated: false };
  for (const { key, theirs } of plan.updated) put[key] = resolve(session.cases[key] as CaseState, theirs, {});
  for (const clash of plan.clashes) put[clash.key] = resolve(clash.state, clash.theirs, chosen[clash.key] ?? {});
  return put;
}
