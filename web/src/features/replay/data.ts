/** What replayed trajectories ask for. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";

export type AlignedTrajectory = Schemas["AlignedTrajectory"];
export type AlignedCall = Schemas["AlignedCall"];
export type Call = NonNullable<AlignedCall["made"]>;
export type Spent = Schemas["StepSpent"];
export type CaseReplay = Schemas["CaseReplay"];

export const useTrajectory = (runId: string, caseId: string, trial: number) =>
  useQuery({
    queryKey: ["runs", runId, "trajectory", caseId, trial],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/benchmarks/runs/{run_id}/trajectories/{case_id}", {
          params: { path: { run_id: runId, case_id: caseId }, query: { trial } },
        }),
      ),
  });

export const useDiffering = (first: string, second: string) =>
  useQuery({
    queryKey: ["compare", first, second, "trajectories"],
    retry: false,
    queryFn: () => unwrap(api.GET("/api/v1/benchmarks/compare/trajectories", { params: { query: { first, second } } })),
  });

export const useReplaysOfCase = (dataset: string, caseId: string) =>
  useQuery({
    queryKey: ["replays", dataset, caseId],
    queryFn: () => unwrap(api.GET("/api/v1/benchmarks/replays", { params: { query: { dataset, case_id: caseId } } })),
  });

/** Makes the worst answers to these cases cases to review; without any, those of failing replays. */
export function useFailingToReview(runId: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (wanted: { dataset: string; cases: string[] }) =>
      unwrap(
        api.POST("/api/v1/benchmarks/runs/{run_id}/failing-to-review", {
          params: { path: { run_id: runId } },
          body: wanted,
        }),
      ),
    onSuccess: () => void cache.invalidateQueries({ queryKey: ["review"] }),
  });
}

type UserWords = { persona: string; goal: string };

/** The simulated user that the metadata of a case states; null where it states none. */
export function userOf(
  metadata: { [name: string]: unknown } | undefined,
): (UserWords & { draftedBy: string | null }) | null {
  const { goal, persona, user_drafted: drafted, user_drafted_by: by } = metadata ?? {};
  if (typeof goal !== "string") return null;
  const draftedBy = drafted ? (typeof by === "string" ? by : "a program") : null;
  return { goal, persona: typeof persona === "string" ? persona : "", draftedBy };
}

export function useConfirmUser(dataset: string, caseId: string, version: number) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (words: UserWords) =>
      unwrap(
        api.PUT("/api/v1/replay-users", {
          params: { query: { dataset, case_id: caseId } },
          body: { ...words, version },
        }),
      ),
    onSuccess: () => cache.invalidateQueries({ queryKey: ["review"] }),
  });
}

export const useRecordedCase = (dataset: string, caseId: string) =>
  useQuery({
    queryKey: ["case", dataset, caseId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/cases/{dataset}/{case_id}", { params: { path: { dataset, case_id: caseId } } })),
  });

/** The models of earlier runs, to choose from; those that answer from the record are no models. */
export function useUsedModels(): string[] {
  const runs = useQuery({
    queryKey: ["runs", "models"],
    queryFn: () => unwrap(api.GET("/api/v1/benchmarks/runs", { params: { query: { limit: 100 } } })),
  });
  const names = new Set((runs.data?.runs ?? []).map((run) => run.spec.model));
  names.delete("recorded");
  return [...names].sort();
}

const LOOK_MS = 1_000;

/** Plays one case again as a run of it alone, and follows it to its end. */
export function usePlay(dataset: string, caseId: string) {
  const cache = useQueryClient();
  const start = useMutation({
    mutationFn: (model: string) =>
      unwrap(
        api.POST("/api/v1/benchmarks/runs", {
          body: { dataset, cases: [caseId], model, metrics: ["trajectory"], replay: {} } as Schemas["RunSpec"],
        }),
      ),
  });
  const runId = start.data?.id ?? "";
  const run = useQuery({
    queryKey: ["runs", runId, "played"],
    enabled: runId !== "",
    queryFn: async () => {
      const now = await unwrap(api.GET("/api/v1/benchmarks/runs/{run_id}", { params: { path: { run_id: runId } } }));
      if (ended(now.status)) await cache.invalidateQueries({ queryKey: ["replays", dataset, caseId] });
      return now;
    },
    refetchInterval: ({ state }) => (state.data && ended(state.data.status) ? false : LOOK_MS),
  });
  const busy = start.isPending || (runId !== "" && !(run.data && ended(run.data.status)));
  return { begin: start.mutate, busy, run: run.data, problem: start.error?.message ?? run.data?.error ?? "" };
}

const ended = (status: string) => !["queued", "running"].includes(status);
