import type { Case } from "./data";

/** The server's rule on what a kind needs, asked of the draft: the button must not wait for a save. */
export function lacking(entry: Case): string[] {
  const blank = (value: unknown) =>
    typeof value === "string" ? value.trim() === "" : value == null || (Array.isArray(value) && value.length === 0);
  const needed: Record<Case["kind"], [string, unknown][]> = {
    chat: [
      ["question", entry.input],
      ["answer", blank(entry.expected) ? entry.output : entry.expected],
    ],
    context: [
      ["query", entry.input],
      ["base commit", entry.base_commit],
      ["paths", entry.paths],
    ],
    qa: [
      ["question", entry.input],
      ["answer", entry.expected],
    ],
    summary: [
      ["instruction", entry.input],
      ["summary", entry.expected],
    ],
    task: [
      ["name", entry.name],
      ["task", entry.input],
      ["expected output", entry.expected],
    ],
  };
  return needed[entry.kind].filter(([, value]) => blank(value)).map(([name]) => name);
}
