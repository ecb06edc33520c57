/** Passages that a reviewer marked, and the names under which answers to questions are stored. */
import type { Question } from "../queue/data";

/**
 * Marked passages. The server counts characters as Unicode does; a browser's text fields count UTF-16 units, of which
 * an emoji has two.
 */
export type Mark = { start: number; end: number; label: string };

/** Where a position of a text field lies, counted in characters. */
export function characterAt(text: string, unit: number): number {
  return Array.from(text.slice(0, unit)).length;
}

/** The marks with one more, in order; one that is there already is not there twice. */
export function withMark(marks: readonly Mark[], added: Mark): Mark[] {
  const others = marks.filter((mark) => !same(mark, added));
  return [...others, added].sort((one, other) => one.start - other.start || one.end - other.end);
}

export function withoutMark(marks: readonly Mark[], gone: Mark): Mark[] {
  return marks.filter((mark) => !same(mark, gone));
}

const same = (one: Mark, other: Mark) =>
  one.start === other.start && one.end === other.end && one.label === other.label;

/** The text of a mark. */
export function passage(text: string, { start, end }: Mark): string {
  return Array.from(text).slice(start, end).join("");
}

/** The text in pieces, each marked or not; where marks overlap, the first one colours. */
export function pieces(text: string, marks: readonly Mark[]): { text: string; label: string | null }[] {
  const characters = Array.from(text);
  const parts: { text: string; label: string | null }[] = [];
  let at = 0;
  for (const mark of marks) {
    const start = Math.max(at, mark.start);
    const end = Math.min(characters.length, mark.end);
    if (end <= start) continue;
    if (start > at) parts.push({ text: characters.slice(at, start).join(""), label: null });
    parts.push({ text: characters.slice(start, end).join(""), label: mark.label });
    at = end;
  }
  if (at < characters.length) parts.push({ text: characters.slice(at).join(""), label: null });
  return parts;
}

/** The questions with a name for each: questions in scripts without Latin letters are numbered. */
export function named(questions: readonly Question[]): Question[] {
  const taken = new Set(questions.map(({ name }) => name));
  return questions.map((question) => {
    if (question.name) return question;
    const wanted = nameFrom(question.title);
    let name = wanted;
    for (let number = 2; taken.has(name); number += 1) name = `${wanted.slice(0, 46)}_${number}`;
    taken.add(name);
    return { ...question, name };
  });
}

/** A name for answers out of the question itself: letters, digits and underscores, at most fifty. */
function nameFrom(title: string): string {
  const plain = title
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "")
    .slice(0, 50);
  return plain || "question";
}
