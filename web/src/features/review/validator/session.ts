/**
 * The editor's state as a reducer: every change is a patch of whole case states, so undo and redo are exact, and a
 * reload restores what was there. Pure: no clock, no storage, no React.
 */
import {
  type Content,
  DERIVED_FROM_COMMIT,
  DERIVED_FROM_PATH,
  type Entry,
  type JsonObject,
  type ListName,
  lacks,
  sameContent,
} from "./rows";

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
  | { type: "setField"; key: string; field: "query" | "baseCommit"; value: string }
  | { type: "addEntry"; key: string; list: ListName; entry: Entry; at?: number }
  | { type: "editEntry"; key: string; list: ListName; index: number; patch: Partial<Entry> }
  | { type: "removeEntry"; key: string; list: ListName; index: number }
  | { type: "moveEntry"; key: string; list: ListName; from: number; to: number }
  | { type: "createHalf"; key: string; list: ListName }
  | { type: "validate"; keys: string[] }
  | { type: "unvalidate"; keys: string[] }
  | { type: "reset"; key: string }
  | { type: "remove"; keys: string[] }
  | { type: "clearAll" }
  | { type: "undo" }
  | { type: "redo" };

export const EMPTY: Session = { cases: {}, order: [], current: null, past: [], future: [] };
const UNDO_DEPTH = 200;

const without = (record: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));

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

/** Editing a validated case makes it unvalidated again: the verdict was on other content. */
function edit(
  session: Session,
  key: string,
  label: string,
  change: (content: Content) => Content,
  field: string | null = null,
): Session {
  const state = session.cases[key];
  if (state === undefined) return session;
  const content = change(state.content);
  if (sameContent(content, state.content)) return session;
  return commit(session, label, { [key]: { ...state, content, validated: false } }, field);
}

function editList(
  session: Session,
  key: string,
  list: ListName,
  label: string,
  change: (entries: Entry[]) => Entry[],
  field: string | null = null,
): Session {
  return edit(
    session,
    key,
    label,
    (content) => {
      const entries = content[list];
      return entries === null ? content : ({ ...content, [list]: change(entries) } as Content);
    },
    field,
  );
}

function editedEntry(entry: Entry, patch: Partial<Entry>): Entry {
  const moved = patch.path !== undefined && patch.path !== entry.path;
  return { ...(moved ? without(entry, DERIVED_FROM_PATH) : entry), ...patch } as Entry;
}

function moved(entries: Entry[], from: number, to: number): Entry[] {
  const target = Math.max(0, Math.min(entries.length - 1, to));
  const rest = entries.filter((_, index) => index !== from);
  const entry = entries[from];
  return entry === undefined ? entries : [...rest.slice(0, target), entry, ...rest.slice(target)];
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

function mark(session: Session, keys: string[], validated: boolean): Session {
  const chosen = keys.filter((key) => {
    const state = session.cases[key];
    return state !== undefined && state.validated !== validated && (!validated || lacks(state.content).length === 0);
  });
  const patch = Object.fromEntries(chosen.map((key) => [key, { ...(session.cases[key] as CaseState), validated }]));
  const verb = validated ? "validate" : "reopen";
  return commit(session, chosen.length === 1 ? `${verb} ${chosen[0]}` : `${verb} ${chosen.length} cases`, patch);
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
    case "setField":
      return edit(
        session,
        action.key,
        `edit ${action.field}`,
        (content) => setField(content, action.field, action.value),
        `${action.key} ${action.field}`,
      );
    case "addEntry":
      return editList(session, action.key, action.list, "add entry", (entries) => {
        const at = action.at ?? entries.length;
        return [...entries.slice(0, at), action.entry, ...entries.slice(at)];
      });
    case "editEntry":
      return editList(
        session,
        action.key,
        action.list,
        "edit entry",
        (entries) => entries.map((entry, index) => (index === action.index ? editedEntry(entry, action.patch) : entry)),
        `${action.key} ${action.list} ${action.index} ${Object.keys(action.patch).join()}`,
      );
    case "removeEntry":
      return editList(session, action.key, action.list, "remove entry", (entries) =>
        entries.filter((_, index) => index !== action.index),
      );
    case "moveEntry":
      return editList(session, action.key, action.list, "move entry", (entries) =>
        moved(entries, action.from, action.to),
      );
    case "createHalf":
      return edit(session, action.key, "start the missing half", (content) =>
        content[action.list] === null ? { ...content, [action.list]: [] } : content,
      );
    case "validate":
      return mark(session, action.keys, true);
    case "unvalidate":
      return mark(session, action.keys, false);
    case "reset":
      return edit(session, action.key, "reset to the import", () => (session.cases[action.key] as CaseState).imported);
    case "remove":
      return commit(
        session,
        `remove ${action.keys.length} cases`,
        Object.fromEntries(action.keys.filter((key) => key in session.cases).map((key) => [key, null])),
      );
    case "clearAll":
      return commit(session, "clear all", Object.fromEntries(session.order.map((key) => [key, null])));
    case "undo":
    case "redo":
      return travel(session, action.type);
  }
}
