/** Changes of cases: one edited in its form beside somebody else's change, or many at once. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, api, type Schemas, unwrap } from "@/api/client";
import { statedAnswer } from "@/ui/cases";
import { plural } from "@/ui/format";
import type { Case } from "./data";

const EDITED = ["input", "output", "expected", "tags", "assertions"] as const;
export type EditedField = (typeof EDITED)[number];
export type Draft = {
  input: string;
  output: string;
  expected: string;
  tags: string[];
  assertions: Schemas["Case"]["assertions"];
};

export const LABEL: Record<EditedField, string> = {
  input: "Input",
  output: "Output",
  expected: "Expected",
  tags: "Tags",
  assertions: "Assertions",
};

export function draftOf(entry: Case): Draft {
  return {
    input: entry.input ?? "",
    output: entry.output ?? "",
    expected: statedAnswer(entry),
    tags: [...entry.tags],
    assertions: entry.assertions,
  };
}

export function changedFields(before: Draft, after: Draft): EditedField[] {
  return EDITED.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
}

/** The fields of a draft in the words of the API; an emptied text is none. */
export function changesOf(draft: Draft, fields: readonly EditedField[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => [field, ["output", "expected"].includes(field) ? draft[field] || null : draft[field]]),
  );
}

/** Saving a case on the version that was seen, and what stands there where somebody else was first. */
export function useCaseEdit(onSaved: (before: Case, after: Case) => void) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [theirs, setTheirs] = useState<Case | null>(null);

  async function save(seen: Case, draft: Draft, fields: readonly EditedField[]) {
    setBusy(true);
    setProblem("");
    try {
      const after = await unwrap(
        api.PATCH("/api/v1/review/case", {
          params: { query: { dataset: seen.dataset, id: seen.id } },
          body: { version: seen.version, changes: changesOf(draft, fields), why: "" },
        }),
      );
      setTheirs(null);
      await client.invalidateQueries();
      onSaved(seen, after);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      if (error instanceof ApiError && error.status === 409) {
        const path = { dataset: seen.dataset, case_id: seen.id };
        // Where even this cannot be read, the refusal is shown and the next save asks again.
        const now = unwrap(api.GET("/api/v1/cases/{dataset}/{case_id}", { params: { path } })).catch(() => null);
        setTheirs(await now);
      }
    } finally {
      setBusy(false);
    }
  }

  return {
    save: (...given: Parameters<typeof save>) => void save(...given),
    settle: () => setTheirs(null),
    busy,
    problem,
    theirs,
  };
}

/** Changes to many cases at once, each with the way back. */
export type Key = { dataset: string; id: string };
type Change = Schemas["CaseChange"];
type Wanted = { addTags?: string[]; dataset?: string; status?: Change["status"] };
type Outcome = { message: string; undo: readonly Change[] };

const send = (body: Change) => unwrap(api.POST("/api/v1/cases/changes", { body }));

export function useCaseChanges() {
  const client = useQueryClient();
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [busy, setBusy] = useState(false);

  /** Does the work and shows its outcome; gives whether it succeeded. */
  async function act(work: () => Promise<Outcome>): Promise<boolean> {
    setBusy(true);
    try {
      setOutcome(await work());
      return true;
    } catch (error) {
      setOutcome({ message: error instanceof Error ? error.message : String(error), undo: [] });
      return false;
    } finally {
      setBusy(false);
      void client.invalidateQueries();
    }
  }

  const change = (cases: readonly Key[], { addTags = [], dataset, status }: Wanted) =>
    act(async () => {
      const body = { cases: [...cases], add_tags: addTags, remove_tags: [], dataset, status };
      const done = await send(body);
      const problems = (done.problems ?? []).join("; ");
      return { message: `Changed ${plural(done.cases.length, "case")}. ${problems}`, undo: done.undo ?? [] };
    });

  /** Merges the chosen cases into the first of them. */
  const merge = ([kept, ...others]: readonly Key[]) =>
    act(async () => {
      const repeats_of = kept && { dataset: kept.dataset, id: kept.id };
      const done = await send({ cases: others, add_tags: [], remove_tags: [], repeats_of });
      const problems = (done.problems ?? []).join("; ");
      return { message: `Merged ${plural(done.cases.length, "repeat")}. ${problems}`, undo: done.undo ?? [] };
    });

  const undo = () =>
    act(async () => {
      for (const step of outcome?.undo ?? []) await send(step);
      return { message: "Taken back.", undo: [] };
    });

  return { change, merge, undo, busy, message: outcome?.message ?? "", undoable: (outcome?.undo.length ?? 0) > 0 };
}

export const createCase = (body: Schemas["NewCase"]) => unwrap(api.POST("/api/v1/cases", { body }));
