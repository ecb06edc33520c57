/** Saving a case on the version that was seen, and what stands there where somebody else was first. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, api, unwrap } from "@/api/client";
import { reviewerName } from "@/api/reviewer";
import type { Case } from "./data";
import { changesOf, type Draft, type EditedField } from "./edits";

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
          headers: { "x-evergold-reviewer": reviewerName() },
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
