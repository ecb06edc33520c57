/** Texts on a page: nothing unseen in them, directions kept apart, searched words marked, differences, long ones folded. */
// C0 but tab, line feed and return; delete and C1; embeddings, overrides and isolates; what only breaks up words.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNSEEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069\u2060-\u2065\uFEFF]/g;
const NAMES: { [code: number]: string } = {
  8234: "LRE",
  8235: "RLE",
  8236: "PDF",
  8237: "LRO",
  8238: "RLO",
  8294: "LRI",
  8295: "RLI",
  8296: "FSI",
  8297: "PDI",
};

function shown(character: string): string {
  const code = character.charCodeAt(0);
  return `⟦${NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}⟧`;
}

/**
 * Characters that nobody sees but that change what is read: controls and marks that force a direction. They are shown as
 * such, so that a text cannot pass for another. Marks that Arabic, Hebrew and emoji need to be written are left alone.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, shown);
}

const RIGHT_TO_LEFT =
  /((?:\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko})[^\p{Script=Latin}()\d]*(?<![\s(,:;.]))/u;

/**
 * A sentence of ours that holds a name in Hebrew, Arabic or another script written from right to left: what follows the name
 * stays behind it. Otherwise a number in brackets after an Arabic name is shown before it.
 */
export function Isolated({ text }: { text: string }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
  return piecesOf(visible(text)).map((piece, index) => (index % 2 ? <bdi key={index}>{piece}</bdi> : piece));
}

/** The text in pieces; each second one is written from right to left. */
export function piecesOf(text: string): string[] {
  return text.split(RIGHT_TO_LEFT);
}

type MarkedProps = { text: string; search: string | undefined; most?: number; seen?: number };

/** A text with the words of a search marked, cut so that the first of them is in view; `seen`: how many characters surely are. */
export function Marked({ text, search, most = 300, seen }: MarkedProps) {
  const { parts, cut } = marks(visible(text), search ?? "", most, seen);
  return (
    <>
      {cut && "…"}
      {parts.map((part, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
        part.hit ? <mark key={index}>{part.text}</mark> : part.text,
      )}
    </>
  );
}

/** Where the words of a search stand in a text: as the server looks for them, whatever their case. */
type Part = { text: string; hit: boolean };

const LEAD = 40;

export function marks(text: string, search: string, most: number, seen = most): { parts: Part[]; cut: boolean } {
  const words = search
    .trim()
    .split(/\s+/)
    .flatMap((part) => part.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []);
  if (words.length === 0) return { parts: [{ text: text.slice(0, most), hit: false }], cut: false };
  const pattern = new RegExp(words.map(escaped).join("|"), "giu");
  const first = text.search(pattern);
  const lead = Math.min(LEAD, seen / 2);
  const start = first > seen - lead ? Math.floor(first - lead) : 0;
  const shown = text.slice(start, start + most);
  const parts: Part[] = [];
  let end = 0;
  for (const match of shown.matchAll(pattern)) {
    if (match.index > end) parts.push({ text: shown.slice(end, match.index), hit: false });
    parts.push({ text: match[0], hit: true });
    end = match.index + match[0].length;
  }
  if (end < shown.length) parts.push({ text: shown.slice(end), hit: false });
  return { parts, cut: start > 0 };
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Which words of one text are not in another, in order: the longest common run of words is what both share. */
type Piece = { text: string; differs: boolean };

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

/** How much of a long text is shown: a first look, then all of it, or step by step where all of it would stop the browser. */
export const STEP = 100_000;
const whole = new Intl.NumberFormat("en-US");

type Folded = {
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
