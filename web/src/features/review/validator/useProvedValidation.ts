/**
 * Mark a case as validated after the server proved it: the rows get the full commit id, blobs and text hashes. A base
 * commit that the repository disproves needs an explicit override, which stays in the rows.
 */
import { useState } from "react";
import { useMe } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { rowA, rowB } from "./exportRows";
import { type Content, type JsonObject, lacks, type PathEntry, type RangeEntry } from "./rows";
import type { Action, CaseState } from "./session";

type Disproved = { key: string; content: Content; problems: string[] };

/** The content with what the repository added: full commit id, blobs and text hashes of its entries. */
function completed(content: Content, a: JsonObject, b: JsonObject): Content {
  const verified: JsonObject = a.baseVerified === true ? { baseVerified: true } : {};
  return {
    ...content,
    baseCommit: String(a.baseCommit ?? content.baseCommit),
    filePaths: content.filePaths === null ? null : (a.filePaths as PathEntry[]),
    lineRanges: content.lineRanges === null ? null : (b.lineRanges as RangeEntry[]),
    extraA: { ...content.extraA, ...verified },
    extraB: { ...content.extraB, ...verified },
  };
}

export function useProvedValidation(dispatch: (action: Action) => void) {
  const me = useMe();
  const [disproved, setDisproved] = useState<Disproved | null>(null);
  const [failure, setFailure] = useState<string | null>(null);

  function put(key: string, state: CaseState, content: Content) {
    dispatch({ type: "put", label: `validate ${key}`, states: { [key]: { ...state, content, validated: true } } });
  }

  async function validate(key: string, state: CaseState, diff: string | null) {
    setFailure(null);
    if (lacks(state.content).length > 0) return;
    if (me.data?.repository !== true) return dispatch({ type: "validate", keys: [key] });
    try {
      const body = { a: rowA(state.content), b: rowB(state.content), diff };
      const proved = await unwrap(api.POST("/api/v1/review/prove", { body }));
      const content = completed(state.content, proved.a as JsonObject, proved.b as JsonObject);
      if (proved.problems.length === 0) put(key, state, content);
      else setDisproved({ key, content, problems: [...proved.problems] });
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  }

  function override(state: CaseState, why: string) {
    if (disproved === null) return;
    const note = { baseOverride: { by: me.data?.name ?? "", why, problems: disproved.problems } };
    const { content } = disproved;
    put(disproved.key, state, {
      ...content,
      extraA: { ...content.extraA, ...note },
      extraB: { ...content.extraB, ...note },
    });
    setDisproved(null);
  }

  return { validate, override, disproved, dismiss: () => setDisproved(null), failure };
}
