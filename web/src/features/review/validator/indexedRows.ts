/** Case states in IndexedDB. All writes of one save are one transaction: they are there together or not at all. */
import type { RowStorage } from "./persistence";
import type { CaseState } from "./session";

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
