/**
 * The validator's session as a reducer: every change is a patch of whole case states, so undo and redo are exact, and a
 * reload restores what was there; then which case comes next, and which cases a filter shows. Pure: no clock, no storage.
 */
import { applyEdit, type Content, type Edit, lacks, sameContent } from "../content";

export interface CaseState {
  /** The content as last imported: what Reset returns to, and the common ancestor of a re-import. */
  imported: Content;
  content: Content;
  validated: boolean;
}

type Patch = { [key: string]: CaseState | null };

interface Change {
  label: string;
  before: Patch;
  after: Patch;
  orderBefore: string[];
  orderAfter: string[];
  /** Keystrokes in one field are one change. */
  field: string | null;
  /** The case in view when it happened, so that undo shows what it undid. */
  at: string | null;
}

export interface Session {
  cases: { [key: string]: CaseState };
  order: string[];
  current: string | null;
  past: Change[];
  future: Change[];
}

export type Action =
  | { type: "loaded"; cases: Session["cases"]; order: string[]; current: string | null }
  | { type: "put"; label: string; states: { [key: string]: CaseState } }
  | { type: "select"; key: string | null }
  | { type: "edit"; key: string; edit: Edit }
  | { type: "validate" | "unvalidate" | "reset"; key: string }
  | { type: "clearAll" }
  | { type: "undo" }
  | { type: "redo" };

export const EMPTY: Session = { cases: {}, order: [], current: null, past: [], future: [] };
const UNDO_DEPTH = 200;

function applyPatch(session: Session, patch: Patch, order: string[]): Session {
  const cases = { ...session.cases };
  for (const [key, state] of Object.entries(patch)) {
    if (state === null) delete cases[key];
    else cases[key] = state;
  }
  const current = session.current !== null && session.current in cases ? session.current : (order[0] ?? null);
  return { ...session, cases, order, current };
}

function commit(session: Session, label: string, after: Patch, field: string | null = null): Session {
  const keys = Object.keys(after);
  if (keys.length === 0) return session;
  const before: Patch = Object.fromEntries(keys.map((key) => [key, session.cases[key] ?? null]));
  const kept = session.order.filter((key) => after[key] !== null);
  const added = keys.filter((key) => after[key] !== null && !(key in session.cases));
  const order = added.length === 0 && kept.length === session.order.length ? session.order : [...kept, ...added];
  const last = session.past.at(-1);
  const goesOn = field !== null && last?.field === field && session.future.length === 0;
  const change: Change = goesOn
    ? { ...last, after }
    : { label, before, after, orderBefore: session.order, orderAfter: order, field, at: session.current };
  const past = [...(goesOn ? session.past.slice(0, -1) : session.past), change].slice(-UNDO_DEPTH);
  return { ...applyPatch(session, after, order), past, future: [] };
}

const LABELS: Record<Exclude<Edit["type"], "setField">, string> = {
  addEntry: "add entry",
  editEntry: "edit entry",
  removeEntry: "remove entry",
  moveEntry: "move entry",
  createHalf: "start the missing half",
};

/** What keystrokes go on with: the same field of the same case or entry. */
function fieldOf(key: string, edit: Edit): string | null {
  if (edit.type === "setField") return `${key} ${edit.field}`;
  return edit.type === "editEntry" ? `${key} ${edit.list} ${edit.index} ${Object.keys(edit.patch).join()}` : null;
}

/** Changing a validated case makes it unvalidated again: the verdict was on other content. */
function edit(session: Session, key: string, made: Edit | "reset"): Session {
  const state = session.cases[key];
  if (state === undefined) return session;
  const content = made === "reset" ? state.imported : applyEdit(state.content, made);
  if (sameContent(content, state.content)) return session;
  const after = { [key]: { ...state, content, validated: false } };
  if (made === "reset") return commit(session, "reset to the import", after);
  const label = made.type === "setField" ? `edit ${made.field}` : LABELS[made.type];
  return commit(session, label, after, fieldOf(key, made));
}

function mark(session: Session, key: string, validated: boolean): Session {
  const state = session.cases[key];
  if (state === undefined || state.validated === validated) return session;
  if (validated && lacks(state.content).length > 0) return session;
  return commit(session, `${validated ? "validate" : "reopen"} ${key}`, { [key]: { ...state, validated } });
}

function travel(session: Session, direction: "undo" | "redo"): Session {
  const change = (direction === "undo" ? session.past : session.future).at(-1);
  if (change === undefined) return session;
  const [patch, order] = direction === "undo" ? [change.before, change.orderBefore] : [change.after, change.orderAfter];
  const next = applyPatch(session, patch, order);
  const stacks =
    direction === "undo"
      ? { past: session.past.slice(0, -1), future: [...session.future, change] }
      : { past: [...session.past, change], future: session.future.slice(0, -1) };
  return { ...next, ...stacks, current: change.at !== null && change.at in next.cases ? change.at : next.current };
}

export function reduce(session: Session, action: Action): Session {
  switch (action.type) {
    case "loaded":
      return { ...EMPTY, cases: action.cases, order: action.order, current: action.current ?? action.order[0] ?? null };
    case "put":
      return commit(session, action.label, action.states);
    case "select":
      return action.key === session.current ? session : { ...session, current: action.key };
    case "edit":
      return edit(session, action.key, action.edit);
    case "validate":
    case "unvalidate":
      return mark(session, action.key, action.type === "validate");
    case "reset":
      return edit(session, action.key, "reset");
    case "clearAll":
      return commit(session, "clear all", Object.fromEntries(session.order.map((key) => [key, null])));
    case "undo":
    case "redo":
      return travel(session, action.type);
  }
}

type Status = "validated" | "ready" | "incomplete";
export type StatusFilter = Status | "all" | "edited" | "half pair";

export interface Filter {
  text: string;
  status: StatusFilter;
}

const statuses = new WeakMap<CaseState, Status>();

/** Remembered by state: a list of thousands asks for it on every keystroke. */
export function statusOf(state: CaseState): Status {
  let status = statuses.get(state);
  if (status === undefined) {
    status = state.validated ? "validated" : lacks(state.content).length === 0 ? "ready" : "incomplete";
    statuses.set(state, status);
  }
  return status;
}

const haystacks = new WeakMap<object, string>();

function haystack(state: CaseState): string {
  let found = haystacks.get(state.content);
  if (found === undefined) {
    const { identity, query, baseCommit, filePaths, lineRanges } = state.content;
    const paths = [...(filePaths ?? []), ...(lineRanges ?? [])].map((entry) => entry.path);
    found = [identity.caseId, identity.taskId, identity.flowId, query, baseCommit, ...paths].join("\n").toLowerCase();
    haystacks.set(state.content, found);
  }
  return found;
}

function shows(state: CaseState, filter: Filter): boolean {
  if (filter.status === "edited" && state.content === state.imported) return false;
  if (filter.status === "half pair" && state.content.filePaths !== null && state.content.lineRanges !== null)
    return false;
  const bySituation = filter.status === "all" || filter.status === "edited" || filter.status === "half pair";
  if (!bySituation && statusOf(state) !== filter.status) return false;
  const words = filter.text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return words.length === 0 || words.every((word) => haystack(state).includes(word));
}

/** The part of a session that a list shows; moving from case to case leaves it as it is. */
type Shelf = Pick<Session, "cases" | "order">;

export function listed(session: Shelf, filter: Filter): string[] {
  return session.order.filter((key) => shows(session.cases[key] as CaseState, filter));
}

export function neighbour(keys: string[], current: string | null, step: 1 | -1): string | null {
  if (keys.length === 0) return null;
  const at = current === null ? -1 : keys.indexOf(current);
  if (at === -1) return (step === 1 ? keys[0] : keys.at(-1)) ?? null;
  return keys[Math.max(0, Math.min(keys.length - 1, at + step))] ?? null;
}

/** The first case that is not validated after the current one, wrapping round; the current one only when no other is left. */
export function nextIncomplete(session: Session): string | null {
  const { order, current } = session;
  const from = current === null ? -1 : order.indexOf(current);
  for (let step = 1; step <= order.length; step += 1) {
    const key = order[(from + step) % order.length] as string;
    if (!(session.cases[key] as CaseState).validated) return key;
  }
  return null;
}

type Counts = Record<Status, number> & { total: number };

export function counts(session: Shelf): Counts {
  const found: Counts = { validated: 0, ready: 0, incomplete: 0, total: session.order.length };
  for (const key of session.order) found[statusOf(session.cases[key] as CaseState)] += 1;
  return found;
}
