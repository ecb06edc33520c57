/** The session in React: the reducer, loaded once, saved after every change, and what the last save said. */
import { type Dispatch, useCallback, useEffect, useReducer, useRef, useState } from "react";
import { useMe } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { type Content, type JsonObject, lacks, type PathEntry, type RangeEntry } from "../content";
import type { Change } from "../Evidence";
import { indexedRows, Persistence, type Saved, type TextStorage } from "./persistence";
import { rowA, rowB } from "./rows";
import { type Action, type CaseState, EMPTY, reduce, type Session } from "./session";

const SAVE_AFTER_MS = 150;

/** Reached through functions, because a browser that forbids storage throws on the mere mention of it. */
export const browserStorage: TextStorage = {
  getItem: (key) => window.localStorage.getItem(key),
  setItem: (key, value) => window.localStorage.setItem(key, value),
  removeItem: (key) => window.localStorage.removeItem(key),
};

export type SaveState = "loading" | "saving" | Saved;

interface Validator {
  session: Session;
  dispatch: Dispatch<Action>;
  save: SaveState;
  /** Keep this tab's work although another tab saved since. */
  takeOver: () => void;
  forget: () => Promise<void>;
}

export function useValidator(): Validator {
  const [session, dispatch] = useReducer(reduce, EMPTY);
  const [save, setSave] = useState<SaveState>("loading");
  const [persistence] = useState(() => new Persistence(browserStorage, indexedRows));
  const unsaved = useRef<Session | null>(null);
  const loaded = useRef(false);

  useEffect(() => {
    void persistence.load().then(({ stored, saved }) => {
      if (stored !== null) dispatch({ type: "loaded", ...stored });
      loaded.current = saved.ok;
      setSave(saved);
    });
  }, [persistence]);

  const flush = useCallback(() => {
    const pending = unsaved.current;
    if (pending === null) return;
    unsaved.current = null;
    setSave("saving");
    // Something newer may wait by then: only the save of the newest state may say "saved".
    void persistence
      .save(pending)
      .then((saved) => setSave((old) => (saved.ok && unsaved.current !== null ? old : saved)));
  }, [persistence]);

  const seen = useRef(session.cases);
  const first = useRef(true);
  useEffect(() => {
    if (first.current || !loaded.current) {
      first.current = false;
      return;
    }
    unsaved.current = session;
    if (session.cases !== seen.current) setSave("saving");
    seen.current = session.cases;
    const timer = setTimeout(flush, SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [session, flush]);

  const busy = save === "saving";
  useEffect(() => {
    if (!busy) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [busy]);

  useEffect(() => {
    window.addEventListener("pagehide", flush);
    document.addEventListener("visibilitychange", flush);
    return () => {
      window.removeEventListener("pagehide", flush);
      document.removeEventListener("visibilitychange", flush);
    };
  }, [flush]);

  const takeOver = () => {
    persistence.takeOver();
    unsaved.current = session;
    flush();
  };
  const forget = async () => {
    unsaved.current = null;
    const saved = await persistence.clear();
    loaded.current = saved.ok;
    setSave(saved);
  };
  return { session, dispatch, save, takeOver, forget };
}

type Disproved = { key: string; content: Content; problems: string[] };

/** The content with what the repository added: full commit id, blobs and text hashes of its entries. */
function completed(content: Content, a: JsonObject, b: JsonObject): Content {
  const verified: JsonObject = a.baseVerified === true ? { baseVerified: true } : {};
  return {
    ...content,
    baseCommit: String(a.baseCommit ?? content.baseCommit),
    filePaths: content.filePaths === null ? null : (a.filePaths as PathEntry[]),
    lineRanges: content.lineRanges === null ? null : (b.lineRanges as RangeEntry[]),
    extraA: { ...content.extraA, ...verified },
    extraB: { ...content.extraB, ...verified },
  };
}

/**
 * Mark a case as validated after the server proved it: the rows get the full commit id, blobs and text hashes. A base
 * commit that the repository disproves needs an explicit override, which stays in the rows.
 */
export function useProvedValidation(dispatch: (action: Action) => void) {
  const me = useMe();
  const [disproved, setDisproved] = useState<Disproved | null>(null);
  const [failure, setFailure] = useState<string | null>(null);

  function put(key: string, state: CaseState, content: Content) {
    dispatch({ type: "put", label: `validate ${key}`, states: { [key]: { ...state, content, validated: true } } });
  }

  async function validate(key: string, state: CaseState, change: Change) {
    setFailure(null);
    if (lacks(state.content).length > 0) return;
    if (me.data?.repository !== true) return dispatch({ type: "validate", key });
    try {
      const body = { a: rowA(state.content), b: rowB(state.content), ...change };
      const proved = await unwrap(api.POST("/api/v1/review/prove", { body }));
      const content = completed(state.content, proved.a as JsonObject, proved.b as JsonObject);
      if (proved.problems.length === 0) put(key, state, content);
      else setDisproved({ key, content, problems: [...proved.problems] });
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  }

  function override(state: CaseState, why: string) {
    if (disproved === null) return;
    const note = { baseOverride: { by: me.data?.name ?? "", why, problems: disproved.problems } };
    const { content } = disproved;
    put(disproved.key, state, {
      ...content,
      extraA: { ...content.extraA, ...note },
      extraB: { ...content.extraB, ...note },
    });
    setDisproved(null);
  }

  return { validate, override, disproved, dismiss: () => setDisproved(null), failure };
}
