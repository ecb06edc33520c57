/** A record of any build as a person reads it. Frozen cases and RAG records call the same things by different names. */

export type ReadContext = { text: string; source: string; cited: boolean };
export type Reading = { asked: string; answer: string; contexts: ReadContext[] };

const ASKED = ["input", "question", "instruction"];
const ANSWER = ["expected", "reference_answer", "reference_summary", "reference_context", "output"];
const MARKER = /\[(\d+)\]/g;

/** `required` are the fields that a split of one's own cannot do without: the first asks, the last answers. */
export function readingOf(record: Record<string, unknown>, required: string[] = []): Reading {
  const asked = firstText(record, [...ASKED, ...required.slice(0, 1)]);
  const answer = firstText(record, [...ANSWER, ...required.slice(1).reverse()]);
  return { asked, answer, contexts: contextsOf(record, answer) };
}

function firstText(record: Record<string, unknown>, names: string[]): string {
  return names.map((name) => record[name]).find((value): value is string => typeof value === "string") ?? "";
}

/** A context is cited by its label, or by its place where it has none. */
function contextsOf(record: Record<string, unknown>, answer: string): ReadContext[] {
  const given = Array.isArray(record.contexts) ? record.contexts : [];
  const sources = Array.isArray(record.sources) ? record.sources : [];
  const markers = new Set([...answer.matchAll(MARKER)].map((found) => found[1]));
  return given.map((context: unknown, place) => {
    const { text, source } = typeof context === "string" ? { text: context, source: sources[place] } : partsOf(context);
    const label = /^\[(\d+)\]/.exec(text)?.[1] ?? String(place + 1);
    return { text, source: typeof source === "string" ? source : "", cited: markers.has(label) };
  });
}

function partsOf(context: unknown): { text: string; source: unknown } {
  const { text, source } = (context ?? {}) as { text?: unknown; source?: unknown };
  return { text: typeof text === "string" ? text : "", source };
}
