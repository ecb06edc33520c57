/** The actions on traces: each answers with what happened, and where it can be taken back, with how. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { reviewerName } from "@/api/token";
import type { Score } from "./data";

export interface NewCase {
  answer?: string;
  dataset: string;
  tags?: string[];
}

interface Outcome {
  message: string;
  failed: boolean;
  undo: (() => void) | null;
}

const REPLAYS = "replays";
const NOTHING: Outcome = { message: "", failed: false, undo: null };
const count = (number: number, noun: string) => `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;

export function useTraceActions(traceIds: readonly string[]) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [outcome, setOutcome] = useState<Outcome>(NOTHING);
  const [busy, setBusy] = useState(false);
  const mayEdit = useMay("editor");

  /** Does the work and shows its outcome; gives what went wrong, or nothing. */
  async function act(work: () => Promise<Outcome>): Promise<string> {
    setBusy(true);
    const done = await work().catch(
      (error: unknown): Outcome => ({
        message: error instanceof Error ? error.message : String(error),
        failed: true,
        undo: null,
      }),
    );
    setOutcome(done);
    setBusy(false);
    void client.invalidateQueries();
    return done.failed ? done.message : "";
  }

  const score = (value: 0 | 1) =>
    void act(async () => {
      const key = `page:${reviewerName()}`;
      const body = traceIds.map((trace_id) => ({
        type: "score" as const,
        trace_id,
        name: "opinion",
        value,
        source: "human" as const,
        key,
      }));
      await unwrap(api.POST("/api/v1/scores", { body }));
      const word = value === 1 ? "good" : "bad";
      const undo = mayEdit ? () => unscore(key) : null;
      return { message: `Scored ${count(traceIds.length, "trace")} as ${word}.`, failed: false, undo };
    });

  /** Takes back what was scored here under this key. */
  const unscore = (key: string) =>
    void act(async () => {
      for (const trace_id of traceIds) {
        const trace = await unwrap(api.GET("/api/v1/traces/{trace_id}", { params: { path: { trace_id } } }));
        const mine = trace.scores.find((score) => score.key === key && score.source === "human");
        if (mine?.id != null)
          await unwrap(api.DELETE("/api/v1/scores/{score_id}", { params: { path: { score_id: mine.id } } }));
      }
      return { message: `Took the score of ${count(traceIds.length, "trace")} back.`, failed: false, undo: null };
    });

  /** Withdraws one score of the one trace; what a check or a detector found is not written again by hand. */
  const withdraw = (score: Score) =>
    void act(async () => {
      await unwrap(api.DELETE("/api/v1/scores/{score_id}", { params: { path: { score_id: score.id ?? 0 } } }));
      const found = /^(check|detected):/.test(score.key ?? "");
      const { id: _id, created_at: _at, ...same } = score;
      const undo = () =>
        void act(async () => {
          const body = traceIds.map((trace_id) => ({ ...same, type: "score" as const, trace_id }));
          await unwrap(api.POST("/api/v1/scores", { body }));
          return { message: `Gave the score ${score.name} again.`, failed: false, undo: null };
        });
      return { message: `Withdrew the score ${score.name}.`, failed: false, undo: found ? null : undo };
    });

  const retag = (add: string[], remove: string[]) =>
    act(async () => {
      const body = { trace_ids: [...traceIds], add, remove };
      const changes = await unwrap(api.POST("/api/v1/traces/tags", { body }));
      const changed = changes.filter((one) => one.added.length + one.removed.length > 0);
      const undo = () =>
        void act(async () => {
          for (const { trace_id, added, removed } of changed)
            await unwrap(
              api.POST("/api/v1/traces/tags", {
                body: { trace_ids: [trace_id], add: removed, remove: added },
              }),
            );
          return { message: `Took the tags of ${count(changed.length, "trace")} back.`, failed: false, undo: null };
        });
      const message = `Tagged ${count(changed.length, "trace")}.`;
      return { message, failed: false, undo: changed.length > 0 ? undo : null };
    });

  const makeCases = ({ answer, dataset, tags = [] }: NewCase) =>
    act(async () => {
      const body = { trace_ids: [...traceIds], dataset, answer: answer?.trim() || null, tags, note: "" };
      const made = await unwrap(api.POST("/api/v1/traces/cases", { body }));
      const done = made.filter((one) => one.problem == null);
      const problems = made.flatMap((one) => (one.problem == null ? [] : [one.problem]));
      const message = [done.length > 0 ? `${count(done.length, "case")} in ${dataset}.` : "", ...problems.slice(0, 2)];
      return {
        message: message.filter(Boolean).join(" "),
        failed: done.length === 0,
        undo:
          done.length === 0
            ? null
            : () =>
                dismiss(
                  dataset,
                  done.map((one) => one.id ?? ""),
                ),
      };
    });

  /** Opens a trace in replay: as a case of the dataset of replays, which is made where there is none yet. */
  const openInReplay = () =>
    void act(async () => {
      const body = { trace_ids: [...traceIds], dataset: REPLAYS, answer: null, tags: [], note: "" };
      const [made] = await unwrap(api.POST("/api/v1/traces/cases", { body }));
      if (!made?.id) return { message: made?.problem ?? "", failed: true, undo: null };
      await navigate({ to: "/replay/$dataset/$caseId", params: { dataset: REPLAYS, caseId: made.id } });
      return NOTHING;
    });

  const dismiss = (dataset: string, ids: string[]) =>
    void act(async () => {
      const cases = ids.map((id) => ({ dataset, id, version: 1 }));
      const body = { cases, verdict: "dismiss" as const, comment: "undone" };
      await unwrap(api.POST("/api/v1/decisions/bulk", { body }));
      return { message: `Took ${count(ids.length, "case")} back.`, failed: false, undo: null };
    });

  return { score, withdraw, makeCases, openInReplay, retag, busy, ...outcome };
}
