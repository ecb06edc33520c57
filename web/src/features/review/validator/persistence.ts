/**
 * Where the session lives between reloads: localStorage while it is small, IndexedDB (one record a case) once it is not.
 *
 * A save that failed is a value the page shows, never a swallowed exception; and a second tab is noticed by a counter
 * before it is overwritten.
 */
import type { CaseState, Session } from "./session";

export interface TextStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Case states by key, each written on its own, so that one edit among thousands costs one record. */
export interface RowStorage {
  all(): Promise<[string, CaseState][]>;
  write(put: [string, CaseState][], removed: string[]): Promise<void>;
  clear(): Promise<void>;
}

export type Saved =
  | { ok: true }
  | { ok: false; reason: "quota" | "other tab" | "unreadable" | "failed"; message: string };
type Stored = Pick<Session, "cases" | "order" | "current">;

export const STORAGE_KEY = "evergold.evaldata";
/** Characters; browsers give an origin about five million. */
const SMALL = 1_000_000;

interface Index {
  version: 1;
  saves: number;
  place: "localStorage" | "indexedDB";
  order: string[];
  current: string | null;
  cases?: Session["cases"];
}

const quota = (fault: unknown) => fault instanceof Error && /quota/i.test(`${fault.name} ${fault.message}`);

function failure(fault: unknown): Saved {
  if (quota(fault)) {
    return {
      ok: false,
      reason: "quota",
      message: "the browser's storage is full: these edits are only in this tab; export or free space, then edit again",
    };
  }
  return {
    ok: false,
    reason: "failed",
    message: `could not save in the browser: ${fault instanceof Error ? fault.message : String(fault)}`,
  };
}

export class Persistence {
  private saves = 0;
  private saved: Session["cases"] = {};
  private inRows = false;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly local: TextStorage,
    private readonly rows: RowStorage,
    private readonly small: number = SMALL,
  ) {}

  async load(): Promise<{ stored: Stored | null; saved: Saved }> {
    try {
      const text = this.local.getItem(STORAGE_KEY);
      if (text === null) return { stored: null, saved: { ok: true } };
      const index = JSON.parse(text) as Index;
      if (index.version !== 1) throw new Error(`saved by another version (${String(index.version)})`);
      this.saves = index.saves;
      this.inRows = index.place === "indexedDB";
      this.saved = this.inRows ? Object.fromEntries(await this.rows.all()) : (index.cases ?? {});
      const order = index.order.filter((key) => key in this.saved);
      const unlisted = Object.keys(this.saved).filter((key) => !order.includes(key));
      return {
        stored: { cases: this.saved, order: [...order, ...unlisted], current: index.current },
        saved: { ok: true },
      };
    } catch (fault) {
      const message = `the saved session could not be read (${fault instanceof Error ? fault.message : String(fault)}); it is kept until you clear it`;
      return { stored: null, saved: { ok: false, reason: "unreadable", message } };
    }
  }

  /** Saves are strictly one after the other; each writes what differs from the one before. */
  save(session: Stored): Promise<Saved> {
    const next = this.queue.then(() => this.saveNow(session));
    this.queue = next;
    return next;
  }

  async clear(): Promise<Saved> {
    await this.queue;
    try {
      this.local.removeItem(STORAGE_KEY);
      await this.rows.clear();
      [this.saves, this.saved, this.inRows] = [0, {}, false];
      return { ok: true };
    } catch (fault) {
      return failure(fault);
    }
  }

  /** Forget that another tab saved, so that the next save wins. */
  takeOver(): void {
    this.saves = this.savesNow();
  }

  private savesNow(): number {
    const text = this.local.getItem(STORAGE_KEY);
    return text === null ? 0 : (JSON.parse(text) as Index).saves;
  }

  private async saveNow(session: Stored): Promise<Saved> {
    try {
      if (this.savesNow() !== this.saves) {
        return {
          ok: false,
          reason: "other tab",
          message: "another tab saved this session since: reload to see its work, or keep this tab's",
        };
      }
      if (!this.inRows && this.saveSmall(session)) return { ok: true };
      await this.saveRows(session);
      return { ok: true };
    } catch (fault) {
      return failure(fault);
    }
  }

  private saveSmall(session: Stored): boolean {
    const index: Index = {
      version: 1,
      saves: this.saves + 1,
      place: "localStorage",
      order: session.order,
      current: session.current,
      cases: session.cases,
    };
    const text = JSON.stringify(index);
    if (text.length > this.small) return false;
    try {
      this.local.setItem(STORAGE_KEY, text);
    } catch (fault) {
      if (quota(fault)) return false;
      throw fault;
    }
    this.saves += 1;
    this.saved = session.cases;
    return true;
  }

  private async saveRows(session: Stored): Promise<void> {
    const before = this.inRows ? this.saved : {};
    const put = Object.entries(session.cases).filter(([key, state]) => before[key] !== state);
    const removed = Object.keys(before).filter((key) => !(key in session.cases));
    if (!this.inRows) await this.rows.clear();
    if (put.length > 0 || removed.length > 0) await this.rows.write(put, removed);
    const index: Index = {
      version: 1,
      saves: this.saves + 1,
      place: "indexedDB",
      order: session.order,
      current: session.current,
    };
    this.local.setItem(STORAGE_KEY, JSON.stringify(index));
    [this.saves, this.saved, this.inRows] = [this.saves + 1, session.cases, true];
  }
}

const DATABASE = "evergold.evaldata";
const STORE = "cases";

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("IndexedDB could not be opened"));
  });
}

async function inTransaction<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => () => T): Promise<T> {
  const database = await open();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const result = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(result());
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser aborted the save"));
    });
  } finally {
    database.close();
  }
}

/** Case states in IndexedDB. All writes of one save are one transaction: they are there together or not at all. */
export const indexedRows: RowStorage = {
  all: () =>
    inTransaction("readonly", (store) => {
      const [keys, values] = [store.getAllKeys(), store.getAll()];
      return () =>
        keys.result.map((key, index): [string, CaseState] => [String(key), values.result[index] as CaseState]);
    }),
  write: (put, removed) =>
    inTransaction("readwrite", (store) => {
      for (const [key, state] of put) store.put(state, key);
      for (const key of removed) store.delete(key);
      return () => undefined;
    }),
  clear: () =>
    inTransaction("readwrite", (store) => {
      store.clear();
      return () => undefined;
    }),
};
