/**
 * What somebody typed and has not stored yet, kept in this tab: it outlives a reload, a closed dialog and another page.
 * Letting it go (`clear`) belongs to storing it and to cancelling.
 */
import { useCallback, useState } from "react";

const PREFIX = "evergold.unsent.";

type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** Where storage is forbidden or full, typed text lasts as long as its form. */
function attempt<T>(work: (shelf: Shelf) => T): T | null {
  try {
    return work(sessionStorage);
  } catch {
    return null;
  }
}

export function readKept<T>(name: string, shelf?: Shelf): T | null {
  const read = (from: Shelf) => JSON.parse(from.getItem(PREFIX + name) ?? "null") as T | null;
  return shelf ? read(shelf) : attempt(read);
}

export function writeKept(name: string, value: unknown, shelf?: Shelf): void {
  const write = (to: Shelf) =>
    value === null ? to.removeItem(PREFIX + name) : to.setItem(PREFIX + name, JSON.stringify(value));
  if (shelf) write(shelf);
  else attempt(write);
}

export function useKept<T>(name: string, initial: T): [T, (next: T) => void, () => void] {
  const [value, setValue] = useState<T>(() => readKept<T>(name) ?? initial);
  const set = useCallback(
    (next: T) => {
      setValue(next);
      writeKept(name, next);
    },
    [name],
  );
  const clear = useCallback(() => writeKept(name, null), [name]);
  return [value, set, clear];
}
