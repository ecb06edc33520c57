/**
 * A re-import never destroys edits. The last import is the common ancestor, the reviewer's content is one side, the new
 * file is the other: a field changed on one side only merges by itself, a field changed on both is a choice.
 */
import { type Content, type Json, sameContent, sameJson } from "./rows";
import type { CaseState, Session } from "./session";

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

export interface ImportPlan {
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
