/** How much of a long text is shown: a first look, then all of it, or step by step where all of it would stop the browser. */

export const STEP = 100_000;
const whole = new Intl.NumberFormat("en-US");

export type Folded = {
  /** How many characters are shown. */
  shown: number;
  /** How many are shown after one more click, and what the button for it says; null where all is shown. */
  next: { shown: number; label: string } | null;
};

export function folding(length: number, first: number, shown: number): Folded {
  if (length <= shown) return { shown: length, next: null };
  const next = shown <= first ? Math.min(length, STEP) : Math.min(length, shown + STEP);
  if (next === length) return { shown, next: { shown: next, label: `Show all ${whole.format(length)} characters` } };
  const label =
    shown <= first
      ? `Show the first ${whole.format(next)} of ${whole.format(length)} characters`
      : `Show ${whole.format(next - shown)} more of ${whole.format(length)} characters`;
  return { shown, next: { shown: next, label } };
}
