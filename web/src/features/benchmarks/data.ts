/** What Benchmarks asks for. A run that goes on is asked again and again; one that ended is left alone. */
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";

export type Run = Schemas["Run"];
export type Attempt = Schemas["Attempt"];
export type Mean = Schemas["Mean"];
export type Board = Schemas["Board"];
export type Spec = Schemas["RunSpec"];
export type Asked = Schemas["Asked"];
export type Comparison = Schemas["RunComparison"];
export type ComparedCase = Schemas["ComparedCase"];
export type ChangeKind = Schemas["ChangeKind"];

const FOLLOW_MS = 1_000;
const LIST_MS = 4_000;
export const PAGE = 200;

export const goesOn = (run: Run | undefined) => run?.status === "queued" || run?.status === "running";

/** A large run is asked after less often: its means are made anew each time. */
export const followEvery = (run: Run | undefined): number | false =>
  goesOn(run) && Math.min(10 * FOLLOW_MS, Math.max(FOLLOW_MS, 2 * (run?.total ?? 0)));

export const useRuns = () =>
  useQuery({
    queryKey: ["runs"],
    queryFn: () => unwrap(api.GET("/api/v1/benchmarks/runs", { params: { query: { limit: 100 } } })),
    refetchInterval: LIST_MS,
  });

/** Means of the runs that ended, read once: their key changes when a run is scored again. */
export function useMeans(runs: readonly Run[]) {
  const ended = runs.filter((run) => !goesOn(run));
  return useQuery({
    queryKey: ["means", ended.map((run) => `${run.id} ${run.ended_at}`)],
    enabled: ended.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    queryFn: () =>
      unwrap(api.GET("/api/v1/benchmarks/means", { params: { query: { run: ended.map((run) => run.id) } } })),
  });
}

export const useResults = (runId: string, offset: number, enabled = true) =>
  useQuery({
    enabled,
    queryKey: ["runs", runId, "results", offset],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/benchmarks/runs/{run_id}/results", {
          params: { path: { run_id: runId }, query: { order: "worst", limit: PAGE, offset } },
        }),
      ),
    refetchInterval: (query) => followEvery(query.state.data?.run),
  });

const runCase = (runId: string, caseId: string | null) => ({
  queryKey: ["runs", runId, "case", caseId],
  enabled: caseId !== null,
  queryFn: () =>
    unwrap(
      api.GET("/api/v1/benchmarks/runs/{run_id}/cases/{case_id}", {
        params: { path: { run_id: runId, case_id: caseId ?? "" } },
      }),
    ),
});

export const useRunCase = (runId: string, caseId: string | null) => useQuery(runCase(runId, caseId));

/** One task as each of several runs answered it. */
export const useRunCases = (runIds: readonly string[], caseId: string | null) =>
  useQueries({ queries: runIds.map((runId) => runCase(runId, caseId)) });

export const useBoards = () =>
  useQuery({ queryKey: ["leaderboard"], queryFn: () => unwrap(api.GET("/api/v1/benchmarks/leaderboard")) });

export const useDatasets = () =>
  useQuery({ queryKey: ["bench-datasets"], queryFn: () => unwrap(api.GET("/api/v1/benchmarks/datasets")) });

export const useMetrics = () => useQuery({ queryKey: ["metrics"], queryFn: () => unwrap(api.GET("/api/v1/metrics")) });

/** The metrics that fit each kind of case. */
const FITTING: Record<string, readonly string[]> = {
  chat: ["correctness"],
  qa: ["correctness", "faithfulness"],
  summary: ["faithfulness", "rouge_l"],
  task: ["correctness"],
  context: ["line_recall", "line_precision", "line_budget", "file_recall", "file_mrr"],
};

/** The metrics to begin with on a dataset: those of its newest run, else those that fit the kinds of its cases. */
export function useFittingMetrics(dataset: string | null) {
  const runs = useRuns();
  return useQuery({
    queryKey: ["fitting-metrics", dataset],
    enabled: dataset !== null && runs.data !== undefined,
    queryFn: async () => {
      const before = runs.data?.runs.find((run) => run.spec.dataset === dataset && run.status === "completed");
      if (before) return [...before.spec.metrics];
      const query = { dataset: dataset ?? "", candidates: "include" as const };
      const { kinds } = await unwrap(api.GET("/api/v1/cases/facets", { params: { query } }));
      const fitting = kinds.flatMap(({ value }) => FITTING[value] ?? []);
      // A dataset of a file has no cases in the workspace: its tasks have an expected answer.
      return fitting.length > 0 ? [...new Set(fitting)] : ["correctness"];
    },
  });
}

/** A run against the baseline of its dataset; what ended does not change any more. */
export const useAgainst = (first: string, second: string) =>
  useQuery({
    queryKey: ["compare", first, second],
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: () => unwrap(api.GET("/api/v1/benchmarks/compare", { params: { query: { first, second } } })),
  });

export const usePlan = (spec: Spec | null) =>
  useQuery({
    queryKey: ["plan", spec],
    enabled: spec !== null,
    retry: false,
    queryFn: () => unwrap(api.POST("/api/v1/benchmarks/plan", { body: spec as Spec })),
  });

/** What is known of each run by its id: undefined until it is read. */
export const useRunsById = (ids: readonly string[]) =>
  useQueries({
    queries: ids.map((id) => ({
      queryKey: ["runs", id, "run"],
      queryFn: () => unwrap(api.GET("/api/v1/benchmarks/runs/{run_id}", { params: { path: { run_id: id } } })),
    })),
    combine: (found) => new Map(ids.map((id, index) => [id, found[index]?.data])),
  });

/** Each of the others against the first. */
export const useComparisons = (first: string | undefined, others: readonly string[]) =>
  useQueries({
    queries: others.map((second) => ({
      queryKey: ["compare", first, second],
      enabled: Boolean(first),
      queryFn: () =>
        unwrap(api.GET("/api/v1/benchmarks/compare", { params: { query: { first: first ?? "", second } } })),
    })),
  });

const CASES = 50;

/** The cases of a comparison by one metric, worst first, some at a time. */
export const useComparedCases = (first: string, second: string, metric: string, show: ChangeKind) =>
  useInfiniteQuery({
    queryKey: ["compare", first, second, "cases", metric, show],
    placeholderData: keepPreviousData,
    initialPageParam: 0,
    queryFn: ({ pageParam }) => {
      const query = { first, second, metric, show, limit: CASES, offset: pageParam };
      return unwrap(api.GET("/api/v1/benchmarks/compare/cases", { params: { query } }));
    },
    getNextPageParam: (last, pages) => {
      const read = pages.length * CASES;
      return read < (last.counts[show] ?? 0) ? read : undefined;
    },
  });

export function useStart(then: (run: Run) => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (spec: Spec) => unwrap(api.POST("/api/v1/benchmarks/runs", { body: spec })),
    onSuccess: (run) => {
      void cache.invalidateQueries({ queryKey: ["runs"] });
      then(run);
    },
  });
}

export function useCancel(runId: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/benchmarks/runs/{run_id}/cancel", { params: { path: { run_id: runId } } })),
    onSuccess: () => void cache.invalidateQueries({ queryKey: ["runs"] }),
  });
}

/** Only a run the server began is the server's to go on with. */
export const canResume = (run: Run) =>
  (run.status === "cancelled" || run.status === "failed") && run.provenance?.origin === "server";

export function useResume(runId: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/benchmarks/runs/{run_id}/resume", { params: { path: { run_id: runId } }, body: {} as never }),
      ),
    onSuccess: () => void cache.invalidateQueries({ queryKey: ["runs"] }),
  });
}

/** Measures stored answers again with the same metrics and judge. */
export function useRescore(runId: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/benchmarks/runs/{run_id}/rescore", {
          params: { path: { run_id: runId } },
          body: {} as never,
        }),
      ),
    onSuccess: () => void cache.invalidateQueries({ queryKey: ["runs"] }),
  });
}

export function useDeleteRun(runId: string, then: () => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/benchmarks/runs/{run_id}", { params: { path: { run_id: runId } } })),
    onSuccess: () => {
      then();
      cache.removeQueries({ queryKey: ["runs", runId] });
      for (const key of ["runs", "leaderboard"]) void cache.invalidateQueries({ queryKey: [key], exact: true });
    },
  });
}

export const useToReview = (runId: string) =>
  useMutation({
    mutationFn: (attempt: { case_id: string; trial: number }) =>
      unwrap(
        api.POST("/api/v1/benchmarks/runs/{run_id}/to-review", {
          params: { path: { run_id: runId } },
          body: { ...attempt, dataset: "failures" },
        }),
      ),
  });

export function useJudges() {
  return useQuery({ queryKey: ["judges"], queryFn: () => unwrap(api.GET("/api/v1/judges")) });
}

/** Per judged metric of a run: `calibrated`, or why its judge is not. */
export function useCalibration(runId: string) {
  return useQuery({
    queryKey: ["run", runId, "calibration"],
    queryFn: () =>
      unwrap(api.GET("/api/v1/benchmarks/runs/{run_id}/calibration", { params: { path: { run_id: runId } } })),
  });
}

/** Measures the run's judge against people's verdicts on the run's dataset. */
export function useCalibrate(runId: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/benchmarks/runs/{run_id}/calibration", { params: { path: { run_id: runId } }, body: {} }),
      ),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: ["run", runId, "calibration"] });
      void cache.invalidateQueries({ queryKey: ["judges"] });
    },
  });
}
