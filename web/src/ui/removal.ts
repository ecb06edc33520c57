/** Where the focus goes when a row that had it is removed: to the next row, else to the last, else to what stands beside. */
import { useEffect, useRef } from "react";

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
