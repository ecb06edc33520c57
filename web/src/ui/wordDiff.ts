/** Which words of one text are not in another, in order: the longest common run of words is what both share. */

export type Piece = { text: string; differs: boolean };

const MOST_CELLS = 4_000_000;

/** The second text in pieces; those that the first lacks are marked. Texts too long to compare come back whole. */
export function differences(first: string, second: string): Piece[] {
  const before = wordsOf(first);
  const after = wordsOf(second);
  if (second === "") return [];
  if (before.length * after.length > MOST_CELLS) return [{ text: second, differs: false }];
  const shared = commonWords(before, after);
  const pieces: Piece[] = [];
  after.forEach((word, at) => {
    const differs = !shared.has(at);
    const last = pieces.at(-1);
    if (last && last.differs === differs) last.text += word;
    else pieces.push({ text: word, differs });
  });
  return pieces;
}

/** Words with the blanks after them; a text without blanks (Chinese, Thai) is compared character by character. */
function wordsOf(text: string): string[] {
  return (
    text.match(
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]\s*|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+\s*|\s+/gu,
    ) ?? []
  );
}

/** The places in `after` that belong to a longest common subsequence. */
function commonWords(before: readonly string[], after: readonly string[]): Set<number> {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  const equal = (row: number, column: number) => before[row]?.trimEnd() === after[column]?.trimEnd();
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = after.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] = equal(row, column)
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
  const shared = new Set<number>();
  for (let row = 0, column = 0; row < before.length && column < after.length; ) {
    if (equal(row, column)) {
      shared.add(column);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return shared;
}
