/** Which case comes next, and which cases a filter shows. "Incomplete" means not yet validated. */
import { lacks } from "./rows";
import type { CaseState, Session } from "./session";

export type Status = "validated" | "ready" | "incomplete";
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

export function visible(session: Shelf, filter: Filter): string[] {
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

export type Counts = Record<Status, number> & { total: number };

export function counts(session: Shelf): Counts {
  const found: Counts = { validated: 0, ready: 0, incomplete: 0, total: session.order.length };
  for (const key of session.order) found[statusOf(session.cases[key] as CaseState)] += 1;
  return found;
}
