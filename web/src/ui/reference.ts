/** The reference of a case, chosen as the server does: the answer that models are measured by. */
import type { Schemas } from "@/api/client";

type Answers = Pick<Schemas["Case"], "entry_type" | "approved" | "revised" | "expected" | "output">;

/** The answer that a person or the source states; `expected` of a correction holds the words that corrected, no answer. */
export function statedAnswer({ entry_type, approved, revised, expected }: Answers): string {
  if (approved) return approved.text ?? "";
  return (entry_type === "correction" ? revised?.text : expected) ?? "";
}

/** The stated answer, else the recorded one of a golden case. */
export function referenceText(entry: Answers): string {
  return statedAnswer(entry) || (entry.entry_type === "golden" ? (entry.output ?? "") : "");
}

/** What the user said against an answer, where it is not the right answer itself. */
export function remarkText(entry: Answers): string {
  const said = entry.entry_type === "correction" ? (entry.expected ?? "") : "";
  return said === statedAnswer(entry) ? "" : said;
}
