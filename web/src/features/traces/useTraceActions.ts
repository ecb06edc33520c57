/** The actions on traces: each answers with what happened, and where it can be taken back, with how. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { api, type Schemas, unwrap } from "@/api/client";
import { reviewerName } from "@/api/token";
import { plural } from "@/ui/format";
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
  /** The case that was made or changed, where it is one. */
  made?: { dataset: string; id: string } | undefined;
}

const REPLAYS = "replays";
const LAST_DATASET = "evergold.dataset";

/** The dataset that cases went to last, in this browser. */
export const lastDataset = () => localStorage.getItem(LAST_DATASET) || "picked";

const done = (message: string, undo: Outcome["undo"] = null): Outcome => ({ message, failed: false, undo });
const failed = (message: string): Outcome => ({ message, failed: true, undo: null });

export function useTraceActions(traceIds: readonly string[]) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [outcome, setOutcome] = useState<Outcome>(done(""));
  const [busy, setBusy] = useState(false);
  const mayEdit = useMay("editor");

  /** Does the work and shows its outcome; gives what went wrong, or nothing. */
  async function act(work: () => Promise<Outcome>): Promise<string> {
    setBusy(true);
    const now = await work().catch((error: unknown) => failed(error instanceof Error ? error.message : String(error)));
    setOutcome(now);
    setBusy(false);
    void client.invalidateQueries();
    return now.failed ? now.message : "";
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
      return done(`Scored ${plural(traceIds.length, "trace")} as ${word}.`, undo);
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
      return done(`Took the score of ${plural(traceIds.length, "trace")} back.`);
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
          return done(`Gave the score ${score.name} again.`);
        });
      return done(`Withdrew the score ${score.name}.`, found ? null : undo);
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
          return done(`Took the tags of ${plural(changed.length, "trace")} back.`);
        });
      return done(`Tagged ${plural(changed.length, "trace")}.`, changed.length > 0 ? undo : null);
    });

  const makeCases = ({ answer, dataset, tags = [] }: NewCase) =>
    act(async () => {
      const recorded = { note: "", tier: "golden" as const };
      const body = { trace_ids: [...traceIds], dataset, answer: answer?.trim() || null, tags, ...recorded };
      const made = await unwrap(api.POST("/api/v1/traces/cases", { body }));
      const ids = made.flatMap((one) => (one.problem == null ? [one.id ?? ""] : []));
      const problems = made.flatMap((one) => (one.problem == null ? [] : [one.problem])).slice(0, 2);
      if (ids.length === 0) return failed(problems.join(" "));
      if (dataset !== REPLAYS) localStorage.setItem(LAST_DATASET, dataset);
      const fresh = made.flatMap((one) => (one.problem == null && !one.updated ? [one.id ?? ""] : []));
      const updated = ids.length - fresh.length;
      const message = [
        fresh.length > 0 && `${plural(fresh.length, "case")} in ${dataset}.`,
        updated > 0 && `Updated ${plural(updated, "case")} in ${dataset}.`,
        ...problems,
      ];
      const answers = made.flatMap((one) => one.undo ?? []);
      const undo = updated > 0 ? () => takeBack(answers) : () => dismiss(dataset, fresh);
      const only = ids.length === 1 && ids[0] ? { dataset, id: ids[0] } : undefined;
      return { ...done(message.filter(Boolean).join(" "), undo), made: only };
    });

  /** Opens a trace in replay: as a case of the dataset of replays, which is made where there is none yet. */
  const openInReplay = () =>
    void act(async () => {
      const recorded = { answer: null, tags: [], note: "", tier: "golden" as const };
      const body = { trace_ids: [...traceIds], dataset: REPLAYS, ...recorded };
      const [made] = await unwrap(api.POST("/api/v1/traces/cases", { body }));
      if (!made?.id) return failed(made?.problem ?? "");
      await navigate({ to: "/replay/$dataset/$caseId", params: { dataset: REPLAYS, caseId: made.id } });
      return done("");
    });

  const dismiss = (dataset: string, ids: string[]) =>
    void act(async () => {
      const cases = ids.map((id) => ({ dataset, id, version: 1 }));
      const body = { cases, verdict: "dismiss" as const, comment: "undone" };
      await unwrap(api.POST("/api/v1/decisions/bulk", { body }));
      return done(`Took ${plural(ids.length, "case")} back.`);
    });

  /** Gives cases back what an answer replaced in them. */
  const takeBack = (answers: readonly Schemas["CaseChange"][]) =>
    void act(async () => {
      for (const body of answers) await unwrap(api.POST("/api/v1/cases/changes", { body }));
      return done(`Took the answer of ${plural(answers.length, "case")} back.`);
    });

  return { score, withdraw, makeCases, openInReplay, retag, busy, ...outcome };
}
