/** Where the words of a search stand in a text: as the server looks for them, whatever their case. */

export type Part = { text: string; hit: boolean };

const LEAD = 40;

export function marks(text: string, search: string, most: number): { parts: Part[]; cut: boolean } {
  const words = search
    .trim()
    .split(/\s+/)
    .flatMap((part) => part.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []);
  if (words.length === 0) return { parts: [{ text: text.slice(0, most), hit: false }], cut: false };
  const pattern = new RegExp(words.map(escaped).join("|"), "giu");
  const first = text.search(pattern);
  const start = first > most - LEAD ? first - LEAD : 0;
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
