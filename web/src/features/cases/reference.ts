/** Where the reference of a case comes from, in words. */
import type { CaseDetail } from "./data";

const WORDS: Record<string, string> = {
  person: "A person wrote or approved it",
  source: "Stated by the source of the case",
  confirmed: "The recorded answer, which a person's score confirmed",
  candidate: "The recorded answer, which no person has confirmed",
};

export function referenceOrigin({ reference_answer: reference, revised }: CaseDetail): string {
  if (!reference) return "No reference: metrics that need one leave this case out";
  if (reference.origin !== "revised") return WORDS[reference.origin] ?? reference.origin;
  return revised?.trace_id
    ? "The assistant's own corrected answer, later in the conversation"
    : "The correction: the right answer that somebody sent";
}
