/** What the overview asks for, again every few seconds while somebody looks at it; its address, and where its alerts lead. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import { useProblems } from "@/features/topics/data";
import { localMinute, oneOf, withoutBlanks } from "@/ui/address";

export type Overview = Schemas["Overview"];
export type Traffic = Schemas["Traffic"];
export type Alert = Schemas["Alert"];
export type Reason = Schemas["KeptOutReason"];

const WATCH_MS = 5_000;

export function useOverview(period: Period) {
  return useQuery({
    queryKey: ["overview", period],
    queryFn: () => unwrap(api.GET("/api/v1/stats/overview", { params: { query: { period } } })),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });
}

/** Figures over time need no grouping; those by model come along. */
export function useTraffic(period: Period, by: Grouping) {
  const grouped = by === "name" ? "name" : "model";
  return useQuery({
    queryKey: ["traffic", period, grouped],
    queryFn: () => unwrap(api.GET("/api/v1/stats/traffic", { params: { query: { period, by: grouped } } })),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });
}

export function useKeptOut(period: Period) {
  return useQuery({
    queryKey: ["kept-out", period],
    queryFn: () => unwrap(api.GET("/api/v1/stats/kept-out", { params: { query: { period } } })),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });
}

/** Check and curate the traces that wait or that no check has seen. */
export function useCheckNow() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/curation")),
    onSuccess: () => {
      for (const name of ["kept-out", "overview"]) void cache.invalidateQueries({ queryKey: [name] });
    },
  });
}

export function useAgreement() {
  return useQuery({
    queryKey: ["policy-agreement"],
    queryFn: () => unwrap(api.GET("/api/v1/policies/agreement")),
    refetchInterval: 6 * WATCH_MS,
  });
}

export function useAlerts() {
  return useQuery({
    queryKey: ["alerts"],
    queryFn: () => unwrap(api.GET("/api/v1/alerts", { params: { query: { limit: 10 } } })),
    refetchInterval: WATCH_MS,
  });
}

/** Plug-ins that cost their own results: what is wrong with each, and how often its calls failed. */
export function useBrokenPlugins() {
  return useQuery({
    queryKey: ["plugins"],
    queryFn: () => unwrap(api.GET("/api/v1/plugins")),
    select: (plugins) => plugins.filter((plugin) => plugin.problem || plugin.failed),
    refetchInterval: 6 * WATCH_MS,
  });
}

/** How many cases wait for a reviewer or a ruling, and how many problems recur. */
export function useWaiting() {
  const queue = useQuery({
    queryKey: ["review", "counts"],
    queryFn: async () =>
      (await unwrap(api.GET("/api/v1/review/queue", { params: { query: { limit: 1, offset: 0 } } }))).counts,
    refetchInterval: 6 * WATCH_MS,
  });
  const problems = useProblems();
  return {
    waiting: queue.data?.waiting ?? 0,
    disputed: queue.data?.disputed ?? 0,
    problems: problems.data?.filter(({ state }) => state !== "fixed").length ?? 0,
  };
}

/** The first round through the loop, and how far it is. */
export function useFirstSteps(enabled: boolean) {
  return useQuery({
    queryKey: ["first-steps"],
    queryFn: async () => {
      const [progress, builds, runs] = await Promise.all([
        unwrap(api.GET("/api/v1/review/progress", { params: { query: {} } })),
        unwrap(api.GET("/api/v1/builds", { params: { query: {} } })),
        unwrap(api.GET("/api/v1/benchmarks/runs", { params: { query: { limit: 100 } } })),
      ]);
      const decided = progress.datasets.some(({ validated, dismissed }) => validated + dismissed > 0);
      const datasets = runs.runs.map((run) => run.spec.dataset);
      return [
        { label: "Let traces come in", to: "/traces", done: true },
        { label: "Decide about a first case", to: "/review", done: decided },
        { label: "Freeze a version of the dataset", to: "/datasets", done: builds.length > 0 },
        { label: "Run a benchmark", to: "/benchmarks", done: datasets.length > 0 },
        { label: "Compare two runs", to: "/benchmarks", done: new Set(datasets).size < datasets.length },
      ] as const;
    },
    refetchInterval: 6 * WATCH_MS,
    enabled,
  });
}

export const PERIODS = ["24h", "7d", "30d", "90d", "365d"] as const;
export type Period = (typeof PERIODS)[number];
export const USUAL: Period = "30d";
export const GROUPINGS = ["model", "name", "time"] as const;
export type Grouping = (typeof GROUPINGS)[number];
export const MEASURES = ["traces", "cost", "tokens", "p50", "p95", "p99", "failed", "failing"] as const;
export type Measure = (typeof MEASURES)[number];

type OverviewView = { period?: Period; by?: Grouping; measure?: Measure };

export function readOverviewView(search: Record<string, unknown>): OverviewView {
  return withoutBlanks({
    period: oneOf(PERIODS, search.period),
    by: oneOf(GROUPINGS, search.by),
    measure: oneOf(MEASURES, search.measure),
  });
}

const DAYS: Record<Period, number> = { "24h": 1, "7d": 7, "30d": 30, "90d": 90, "365d": 365 };
const DAY_MS = 86_400_000;

type Held = { traces: number; in_period: number; oldest: string | null; as_of: string | null };

/** `period` is the shortest that holds every trace; without one some are older than the longest period. */
type Older = { hidden: number; period?: Period };

/** What to say of older traces; nothing where the period holds at least half of all. */
export function olderTraces({ traces, in_period, oldest, as_of }: Held, shown: Period): Older | null {
  const hidden = traces - in_period;
  if (hidden <= 0 || in_period * 2 >= traces) return null;
  if (oldest === null) return { hidden };
  const days = ((as_of === null ? Date.now() : Date.parse(as_of)) - Date.parse(oldest)) / DAY_MS;
  const period = PERIODS.find((each) => DAYS[each] > DAYS[shown] && DAYS[each] >= days);
  return period ? { hidden, period } : { hidden };
}

/** What an alert leads to: the traces, cases or runs behind it. */
export type AlertLink =
  | { to: "/traces"; search: { score?: string[]; since?: string; until?: string }; label: string }
  | { to: "/cases"; search: { dataset: string }; label: string }
  | { to: "/benchmarks"; search: { q?: string }; label: string };

const MINUTE = 60_000;

/** The link of an alert. A window ends with the minute in which the alert was last seen to fire. */
export function linkOfAlert(alert: Pick<Alert, "kind" | "subject" | "details" | "seen_at">): AlertLink {
  const { check, below, since, dataset } = alert.details as Record<string, unknown>;
  if (alert.kind === "failing_rate") {
    const until = localMinute(new Date(alert.seen_at).getTime() + MINUTE);
    const score = [`${String(check ?? alert.subject)}<${typeof below === "number" ? below : 0.3}`];
    const window = typeof since === "string" ? { since: localMinute(since), until } : {};
    return { to: "/traces", search: { score, ...window }, label: "Failing traces" };
  }
  if (alert.kind === "dataset_drop")
    return { to: "/cases", search: { dataset: alert.subject }, label: "Cases of the dataset" };
  if (alert.kind === "gate_failed")
    return { to: "/benchmarks", search: typeof dataset === "string" ? { q: dataset } : {}, label: "Runs" };
  return { to: "/traces", search: {}, label: "Newest traces" };
}
