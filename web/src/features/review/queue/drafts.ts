/**
 * A case being edited: the changes not yet on the server, saved by themselves after a pause, one save at a time.
 *
 * A save or verdict on a version somebody else has moved on is refused by the server (409); then both versions are shown
 * and the reviewer chooses. Nothing is overwritten, nothing typed is lost.
 */

import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, useReach } from "@/api/client";
import { readKept, writeKept } from "@/ui/forms";
import { holdKeys } from "@/ui/shortcuts";
import {
  type Case,
  type CaseFile,
  type Changes,
  type Decision,
  type Key,
  saveChanges,
  sendVerdict,
  useRefresh,
} from "./data";

const SAVE_AFTER_MS = 700;
/** Verdicts that stand until they are withdrawn. */
const OPINIONS: ReadonlySet<Decision["verdict"]> = new Set(["approve", "dismiss"] as const);

/** Changes that the server does not have yet, and the version they were made on. */
type Unsent = { version: number; changes: Changes };
export type Conflict = { mine: Changes; message: string };
type Draft = {
  /** The case as the reviewer sees it: the server's, with the changes on top. */
  entry: Case;
  changes: Changes;
  state: "saved" | "editing" | "saving" | "failed";
  problem: string | null;
  /** Why the repository disproves the base commit of a case that was to be approved. */
  disproved: string[] | null;
  dismiss: () => void;
  conflict: Conflict | null;
  edit: (changes: Changes) => void;
  /** Fails where the server refuses; what was edited stays. */
  decide: (decision: Decision) => Promise<Case>;
  /** Put my changes on top of the version that is there now, or let them go. */
  resolve: (choice: "mine" | "theirs") => void;
};

/** `onMoved` is called when the case on the server is no longer the one in `file`. */
export function useDraft(file: CaseFile, onMoved: () => void): Draft {
  const key: Key = { dataset: file.case.dataset, id: file.case.id };
  const shelf = `review ${key.dataset}/${key.id}`;
  const [unsent] = useState(() => readKept<Unsent>(shelf));
  const [held, setHeld] = useState<Case>(file.case);
  const [changes, setChanges] = useState<Changes>(unsent?.changes ?? {});
  const [state, setState] = useState<Draft["state"]>(unsent ? "editing" : "saved");
  const [problem, setProblem] = useState<string | null>(null);
  const [disproved, setDisproved] = useState<string[] | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const pending = useRef<Changes>(unsent?.changes ?? {});
  const version = useRef(unsent?.version ?? file.case.version);
  const reached = useReach();
  const keep = useCallback(() => {
    const some = Object.keys(pending.current).length > 0;
    writeKept(shelf, some ? { version: version.current, changes: pending.current } : null);
  }, [shelf]);
  const running = useRef<Promise<unknown>>(Promise.resolve());

  useEffect(() => {
    if (file.case.version > version.current && Object.keys(pending.current).length === 0) {
      version.current = file.case.version;
      setHeld(file.case);
    }
  }, [file.case]);

  const failed = useCallback(
    (fault: unknown, mine: Changes) => {
      const message = fault instanceof Error ? fault.message : String(fault);
      if (fault instanceof ApiError && fault.status === 409) {
        setConflict({ mine, message });
        onMoved();
      } else setProblem(message);
      setState("failed");
    },
    [onMoved],
  );

  const accepted = useCallback(
    (entry: Case, sent: Changes) => {
      version.current = entry.version;
      for (const [name, value] of Object.entries(sent))
        if (pending.current[name] === value) delete pending.current[name];
      keep();
      setHeld(entry);
      setChanges({ ...pending.current });
      setState(Object.keys(pending.current).length === 0 ? "saved" : "editing");
      setProblem(null);
      onMoved();
    },
    [onMoved, keep],
  );

  const { dataset, id } = key;
  const { kind } = file.case;
  const flush = useCallback((): Promise<unknown> => {
    running.current = running.current.then(async () => {
      const sent = { ...pending.current };
      if (Object.keys(sent).length === 0) return;
      setState("saving");
      try {
        accepted(await saveChanges({ dataset, id }, version.current, sent), sent);
      } catch (fault) {
        failed(fault, sent);
      }
    });
    return running.current;
  }, [accepted, failed, dataset, id]);

  useEffect(() => {
    if (state !== "editing") return;
    const timer = setTimeout(() => void flush(), SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [state, flush]);

  useEffect(() => () => void flush(), [flush]);

  // What could not be sent while the server was away is sent when it is back.
  useEffect(() => {
    if (reached && Object.keys(pending.current).length > 0) setState((now) => (now === "failed" ? "editing" : now));
  }, [reached]);

  const edit = useCallback(
    (more: Changes) => {
      pending.current = { ...pending.current, ...more };
      keep();
      setChanges({ ...pending.current });
      setProblem(null);
      setState("editing");
    },
    [keep],
  );

  const decide = useCallback(
    (decision: Decision): Promise<Case> => {
      const answer = running.current.then(async () => {
        const sent = { ...pending.current, ...decision.changes };
        try {
          const entry = await sendVerdict({ dataset, id }, version.current, { ...decision, changes: sent });
          accepted(entry, sent);
          setDisproved(null);
          return entry;
        } catch (fault) {
          failed(fault, sent);
          if (decision.verdict === "approve" && kind === "context") setDisproved(reasonsOf(fault));
          throw fault;
        }
      });
      running.current = answer.catch(() => undefined);
      return answer;
    },
    [accepted, failed, dataset, id, kind],
  );

  const resolve = useCallback(
    (choice: "mine" | "theirs") => {
      version.current = file.case.version;
      setHeld(file.case);
      setConflict(null);
      if (choice === "theirs") pending.current = {};
      keep();
      setChanges({ ...pending.current });
      setState(choice === "mine" && Object.keys(pending.current).length > 0 ? "editing" : "saved");
    },
    [file.case, keep],
  );

  return {
    entry: { ...held, ...(changes as Partial<Case>) },
    changes,
    state,
    problem,
    disproved,
    dismiss: () => setDisproved(null),
    conflict,
    edit,
    decide,
    resolve,
  };
}

/** The reasons that the server lists for refusing an approval; none where it refused for something else. */
function reasonsOf(fault: unknown): string[] | null {
  const body = fault instanceof ApiError && fault.status === 400 ? (fault.body as { problems?: string[] }) : {};
  return body.problems?.length ? body.problems : null;
}

/** The server's rule on what a kind needs, asked of the draft: the button must not wait for a save. */
export function lacking(entry: Case): string[] {
  const blank = (value: unknown) =>
    typeof value === "string" ? value.trim() === "" : value == null || (Array.isArray(value) && value.length === 0);
  const needed: Record<Case["kind"], [string, unknown][]> = {
    chat: [
      ["question", entry.input],
      ["answer", blank(entry.expected) ? entry.output : entry.expected],
    ],
    context: [
      ["query", entry.input],
      ["base commit", entry.base_commit],
      ["paths", entry.paths],
    ],
    qa: [
      ["question", entry.input],
      ["answer", entry.expected],
    ],
    summary: [
      ["instruction", entry.input],
      ["summary", entry.expected],
    ],
    task: [
      ["name", entry.name],
      ["task", entry.input],
      ["expected output", entry.expected],
    ],
  };
  return needed[entry.kind].filter(([, value]) => blank(value)).map(([name]) => name);
}

/** A verdict given in this sitting; `after` comes when the server has stored it. */
export type Decided = { before: CaseFile; decision: Decision; after: Promise<Case> };

const WORDS: Record<Decision["verdict"], string> = {
  approve: "Approved",
  dismiss: "Dismissed",
  second_opinion: "A second opinion is asked for on",
  skip: "Skipped",
  reopen: "Reopened",
  withdraw: "Taken back on",
};

const TITLE_MOST = 60;
export const titleOf = ({ name, input, id }: Case) => (name || input || id).slice(0, TITLE_MOST);

export function useUndo(me: string, onUndone: (key: Key) => Promise<void>) {
  const [decided, setDecided] = useState<readonly Decided[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const refresh = useRefresh();
  const queries = useQueryClient();
  const last = decided.at(-1);

  async function undo() {
    if (last === undefined) return;
    const release = holdKeys();
    const key = { dataset: last.before.case.dataset, id: last.before.case.id };
    try {
      await sendVerdict(key, (await last.after).version, undoOf(last, me));
      // The desk opens on what the undo left: a verdict on the version before it would be refused as a conflict.
      await queries.refetchQueries({ queryKey: ["review", "case", key.dataset, key.id] });
      setDecided((before) => before.filter((one) => one !== last));
      setProblem(null);
      await onUndone(key);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    release();
    await refresh();
  }

  return {
    add: (one: Decided) => {
      setDecided((before) => [...before, one]);
      setProblem(null);
    },
    /** A verdict that the server refused is none. */
    drop: (one: Decided) => setDecided((before) => before.filter((other) => other !== one)),
    undo,
    problem,
    message:
      last === undefined
        ? null
        : `${last.decision.adjudicate ? "Settled: " : ""}${WORDS[last.decision.verdict]} “${titleOf(last.before.case)}”.`,
  };
}

/** What undoes a verdict: my word before it where there was one, else its withdrawal; edits that came with it go back. */
export function undoOf({ before, decision }: Omit<Decided, "after">, me: string): Decision {
  const fields = Object.keys(decision.changes ?? {}) as (keyof Case)[];
  const changes: Changes = Object.fromEntries(fields.map((field) => [field, before.case[field] ?? null]));
  const mine = before.opinions.filter(({ reviewer, verdict }) => reviewer === me && verdict !== "skip").at(-1);
  if (decision.verdict === "reopen" || mine === undefined || !OPINIONS.has(mine.verdict))
    return { verdict: "withdraw", changes, adjudicate: false };
  return { verdict: mine.verdict, changes, adjudicate: mine.adjudicate };
}
