/** What pages show of a case alike: its worth at a glance, its open question, its reference. */
import { Select } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { plural } from "./format";
import page from "./Page.module.css";
import classes from "./Tier.module.css";

type TierName = "confirmed" | "unconfirmed" | "candidate" | "failure" | "correction" | "none";

const LABEL: Record<TierName, string> = {
  confirmed: "Golden",
  unconfirmed: "Golden, unconfirmed",
  candidate: "Candidate",
  failure: "Failure",
  correction: "Correction",
  none: "Not curated",
};

/** What a trace may lack to be evaluated. */
export const GAPS: Record<Schemas["Gap"], string> = {
  no_question: "No question",
  no_answer: "No answer",
  question_not_from_a_person: "Question not from a person",
  envelope: "Question or answer inside an object of the framework",
  tools_missing: "Calls of tools that the conversation lacks",
  no_interaction: "No interaction",
};

/** What the tier of a case rests on. */
export const EVIDENCE: Record<Schemas["TierEvidence"], string> = {
  person: "A person",
  user: "A user",
  outcome: "An outcome",
  content: "A judge",
  check: "A check",
  silence: "Silence",
  source: "Its source",
};

type CaseLike = { entry_type?: string; evidence?: string; status?: string; metadata?: Record<string, unknown> };

function tierOf(entry: CaseLike): TierName {
  if (entry.entry_type === "failure") return "failure";
  if (entry.entry_type === "correction") return "correction";
  if (entry.metadata?.confirmed === true || ["person", "user"].includes(entry.evidence ?? "")) return "confirmed";
  return entry.evidence === "silence" ? "candidate" : "unconfirmed";
}

/** The worth of a case. A candidate rests on silence alone; what a file brought is golden by its source. */
export function CaseTier({ entry }: { entry: CaseLike }) {
  const tier = tierOf(entry);
  const label = tier === "unconfirmed" && entry.evidence === "source" ? "Golden" : undefined;
  return <Tier tier={tier} label={label} faded={entry.status !== "active"} />;
}

/** Shape and word carry the worth, colour only helps. */
export function Tier({ tier, label, faded = false }: { tier: TierName; label?: string; faded?: boolean }) {
  return (
    <span className={classes.tier} data-tier={tier} data-faded={faded || undefined}>
      <span className={classes.mark} aria-hidden="true" />
      {label ?? LABEL[tier]}
    </span>
  );
}

export type Candidates = Schemas["Candidates"];

const CANDIDATES: Record<Candidates, string> = {
  exclude: "Left out",
  include: "Taken along",
  only: "Only these",
};

type CandidatesFieldProps = { value: Candidates; waiting: number | undefined; onChange: (value: Candidates) => void };

/** Whether candidates come along; `waiting` says how many pass what else is chosen. */
export function CandidatesField({ value, waiting, onChange }: CandidatesFieldProps) {
  const said = { exclude: "left out: nobody has said yet that they are good", include: "taken along", only: "alone" };
  return (
    <Select
      label="Candidates"
      description={waiting === undefined ? undefined : `${plural(waiting, "candidate")} ${waiting ? said[value] : ""}`}
      data={Object.entries(CANDIDATES).map(([choice, label]) => ({ value: choice, label }))}
      value={value}
      allowDeselect={false}
      onChange={(choice) => onChange((choice ?? "exclude") as Candidates)}
    />
  );
}

/** A question about a case that somebody decided: what came since and speaks against it, with the way to what raised it. */
export function NeedsLook({ question, traceId }: { question?: string | null; traceId?: string | null }) {
  if (!question) return null;
  return (
    <section className={page.needsLook} aria-label="Needs another look">
      <strong>Does the decision still hold?</strong> {question}
      {traceId && (
        <>
          {" · "}
          <Link to="/traces/$traceId" params={{ traceId }} hash="scores">
            See the scores of its trace
          </Link>
        </>
      )}
    </section>
  );
}

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
  const remark = entry.entry_type === "correction" ? (entry.expected ?? "") : "";
  return remark === statedAnswer(entry) ? "" : remark;
}
