/** The copy in the workspace, in React: sent shortly after every change while a server answers. */
import { useCallback, useEffect, useRef, useState } from "react";
import { reviewerName } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { parseFile } from "./importJsonl";
import { joinRows } from "./join";
import type { Session } from "./session";
import { browserStorage } from "./useValidator";
import { type CopyState, type Parcel, WorkspaceCopy } from "./workspaceCopy";

const SEND_AFTER_MS = 1200;
export const DATASET = "context";

const post = (parcel: Parcel) =>
  unwrap(
    api.POST("/api/v1/review/rows", {
      body: { ...parcel, dataset: DATASET },
      headers: { "x-evergold-reviewer": reviewerName() },
    }),
  );

interface Copy {
  /** Null while there is no workspace, or nothing to copy. */
  copy: CopyState | null;
  /** Put this browser's state over what others changed. */
  insist: () => void;
  /** Every case of the workspace as a session's states. */
  fetchCases: () => Promise<Session["cases"]>;
}

export function useWorkspaceCopy(session: Session, loaded: boolean, present: boolean): Copy {
  const [there] = useState(() => new WorkspaceCopy(browserStorage, post));
  const [copy, setCopy] = useState<CopyState | null>(null);
  const started = useRef(false);
  const { cases } = session;
  const newest = useRef(cases);
  newest.current = cases;

  const send = useCallback(
    async (states: Session["cases"], replace = false) => {
      setCopy({ state: "sending" });
      const answer = await there.send(states, replace);
      // Edits made while the parcel was on its way are not in the workspace: the next parcel's answer speaks for them.
      if (answer.state !== "copied" || states === newest.current) setCopy(answer);
    },
    [there],
  );

  useEffect(() => {
    if (!loaded || !present) return;
    if (!started.current) there.start(cases);
    started.current = true;
    if (Object.keys(cases).length === 0) return setCopy(null);
    setCopy((old) => (old?.state === "differs" ? old : { state: "sending" }));
    const timer = setTimeout(() => void send(cases), SEND_AFTER_MS);
    return () => clearTimeout(timer);
  }, [cases, loaded, present, send, there]);

  const fetchCases = useCallback(async () => {
    const rows = await unwrap(
      api.GET("/api/v1/review/rows", { params: { query: { dataset: DATASET, unvalidated: true } } }),
    );
    const text = (list: unknown[]) => list.map((row) => JSON.stringify(row)).join("\n");
    const { contents } = joinRows([parseFile("workspace A", text(rows.a)), parseFile("workspace B", text(rows.b))]);
    const open = new Set(rows.a.filter((row) => "needsQuery" in row).map((row) => row.caseId));
    const found: Session["cases"] = Object.fromEntries(
      contents.map((content) => {
        const { caseId } = content.identity;
        return [caseId, { imported: content, content, validated: !open.has(caseId) }];
      }),
    );
    there.adopt(found, rows.versions);
    return found;
  }, [there]);

  return { copy, insist: () => void send(cases, true), fetchCases };
}
