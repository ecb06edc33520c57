/** Forms: a dialog, where the focus goes when a row is removed, and typed text that outlives a reload. */
import { Modal, type ModalProps } from "@mantine/core";
import { useCallback, useEffect, useRef, useState } from "react";

type DialogProps = Omit<ModalProps, "opened">;

/** A dialog that exists only while it is open. The focus goes back to where it was, as it does for one that stays mounted. */
export function Dialog(props: DialogProps) {
  useReturnedFocus();
  return <Modal opened closeOnClickOutside={false} {...props} />;
}

/** Gives the focus back on unmount: to what had it before, or where that is gone to the open record or the page. */
function useReturnedFocus() {
  const before = useRef(document.activeElement);
  useEffect(
    () => () => {
      requestAnimationFrame(() => {
        if (document.activeElement && document.activeElement !== document.body) return;
        const held = before.current;
        const back = held instanceof HTMLElement && held.isConnected && held !== document.body;
        const record = document.querySelector<HTMLElement>("article h2[tabindex]");
        (back ? held : (record ?? document.getElementById("main")))?.focus({ preventScroll: true });
      });
    },
    [],
  );
}

/** The position of the row that is focused when the row at `removed` is gone and `left` rows are left; -1 where none is. */
export function nextFocus(removed: number, left: number): number {
  return Math.min(removed, left - 1);
}

/**
 * `ref` goes on what holds the rows; `removing(at)` is called before the row at that position is removed. `selector` finds
 * what is focused in each row, `otherwise` what is focused where no row is left.
 */
export function useRemoval<Holder extends HTMLElement>(length: number, selector: string, otherwise: string) {
  const ref = useRef<Holder>(null);
  const removed = useRef<{ at: number; of: number } | null>(null);
  useEffect(() => {
    const gone = removed.current;
    if (gone === null || length >= gone.of) return;
    removed.current = null;
    const rows = [...(ref.current?.querySelectorAll<HTMLElement>(selector) ?? [])];
    (rows[nextFocus(gone.at, rows.length)] ?? ref.current?.querySelector<HTMLElement>(otherwise))?.focus();
  }, [length, selector, otherwise]);
  const removing = (at: number) => {
    removed.current = { at, of: length };
  };
  return { ref, removing };
}

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

/**
 * What somebody typed and has not stored yet, kept in this tab: it outlives a reload, a closed dialog and another page.
 * Letting it go (`clear`) belongs to storing it and to cancelling.
 */
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
