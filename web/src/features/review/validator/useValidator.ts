/** The session in React: the reducer, loaded once, saved after every change, and what the last save said. */
import { type Dispatch, useCallback, useEffect, useReducer, useRef, useState } from "react";
import { indexedRows } from "./indexedRows";
import { Persistence, type Saved, type TextStorage } from "./persistence";
import { type Action, EMPTY, reduce, type Session } from "./session";

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
