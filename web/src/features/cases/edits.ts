/** What somebody changed in the form of a case, and what somebody else changed meanwhile. */
import { statedAnswer } from "@/ui/reference";
import type { Case } from "./data";

export const EDITED = ["input", "output", "expected", "tags"] as const;
export type EditedField = (typeof EDITED)[number];
export type Draft = { input: string; output: string; expected: string; tags: string[] };

export const LABEL: Record<EditedField, string> = {
  input: "Input",
  output: "Output",
  expected: "Expected",
  tags: "Tags",
};

export function draftOf(entry: Case): Draft {
  return {
    input: entry.input ?? "",
    output: entry.output ?? "",
    expected: statedAnswer(entry),
    tags: [...entry.tags],
  };
}

export function changedFields(before: Draft, after: Draft): EditedField[] {
  return EDITED.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
}

/** The fields of a draft in the words of the API; an emptied text is none. */
export function changesOf(draft: Draft, fields: readonly EditedField[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => [field, field === "tags" || field === "input" ? draft[field] : draft[field] || null]),
  );
}
