/** What the Datasets pages ask the server for. A build never changes, so what was read of one is kept. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import { WATCH_MS } from "@/api/query";

type Counts = Record<string, number>;

export type Dataset = {
  dataset: string;
  cases: number;
  kind: Counts;
  entry_type: Counts;
  review: Counts;
  status: Counts;
  builds: { version: string; content_hash: string; cases: number }[];
};

/** A file of a build; of a RAG split also which fields a record must fill. */
export type Entry = {
  path: string;
  count: number;
  bytes?: number;
  groups?: number;
  sha256?: string | null;
  required?: string[];
};

export type Pair = { a: string; b: string; splits: string[]; similarity?: number };

/** The parts of a manifest that the page shows; a build of another origin may lack any of them. */
export type Manifest = {
  splits?: Record<string, Entry>;
  source?: { path: string; records?: number; lines?: number };
  canary?: string | null;
  filters?: Record<string, unknown>;
  excluded?: Counts;
  excluded_task_types?: Counts;
  rejected?: Counts;
  near_duplicates?: { count: number; pairs: Pair[] } | null;
  overlap?: Record<string, { count: number; cases: string[] }> | null;
  policies?: { policy: string; rev: string | null; cases: number }[];
  seed?: number;
  group_by?: string;
  builder?: string;
};

export type Build = Omit<Schemas["Build"], "manifest"> & { manifest: Manifest };
export type NewBuild = Schemas["NewBuild"];
export type Portrait = Schemas["Portrait"];
export type Lineage = Schemas["Lineage"];
export type Sampled = Schemas["Sampled"];

export type Diff = {
  counts: Record<"added" | "removed" | "changed" | "moved" | "unchanged", number>;
  added: string[];
  removed: string[];
  changed: Record<string, { field: string; before: unknown; after: unknown }[]>;
  moved: Record<string, { from: string; to: string }>;
};

const FROZEN = { staleTime: Number.POSITIVE_INFINITY } as const;

export function useDatasets() {
  return useQuery({
    queryKey: ["datasets"],
    queryFn: async () => (await unwrap(api.GET("/api/v1/datasets"))) as Dataset[],
    refetchInterval: WATCH_MS,
  });
}

export function useBuilds(dataset: string) {
  return useQuery({
    queryKey: ["builds", dataset],
    queryFn: async () => (await unwrap(api.GET("/api/v1/builds", { params: { query: { dataset } } }))) as Build[],
    refetchInterval: WATCH_MS,
  });
}

/** Freeze a dataset, then show it: the lists know of the new version before `then` is called. */
export function useFreeze(then: (build: Build) => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async (wanted: NewBuild) => (await unwrap(api.POST("/api/v1/builds", { body: wanted }))) as Build,
    onSuccess: async (build) => {
      await cache.invalidateQueries({ queryKey: ["builds", build.dataset] });
      void cache.invalidateQueries({ queryKey: ["datasets"] });
      then(build);
    },
  });
}

export function useDiff(dataset: string, before: string, after: string) {
  return useQuery({
    queryKey: ["build-diff", dataset, before, after],
    queryFn: async () => {
      const params = { path: { dataset }, query: { before, after } };
      return (await unwrap(api.GET("/api/v1/builds/{dataset}/diff", { params }))) as Diff;
    },
    ...FROZEN,
  });
}

export function useComparison(dataset: string, before: string, after: string) {
  return useQuery({
    queryKey: ["build-comparison", dataset, before, after],
    queryFn: () =>
      unwrap(api.GET("/api/v1/builds/{dataset}/compare", { params: { path: { dataset }, query: { before, after } } })),
    ...FROZEN,
  });
}

export function useSample(dataset: string, version: string, seed: number, split: string | undefined) {
  return useQuery({
    queryKey: ["build-sample", dataset, version, seed, split],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/builds/{dataset}/{version}/sample", {
          params: { path: { dataset, version }, query: { seed, split, count: 12 } },
        }),
      ),
    ...FROZEN,
  });
}

export function useLineage(dataset: string, caseId: string) {
  return useQuery({
    queryKey: ["lineage", dataset, caseId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/builds/{dataset}/lineage/{case_id}", { params: { path: { dataset, case_id: caseId } } })),
  });
}

export function useFiles(dataset: string, version: string) {
  return useQuery({
    queryKey: ["build-files", dataset, version],
    queryFn: () =>
      unwrap(api.GET("/api/v1/builds/{dataset}/{version}/files", { params: { path: { dataset, version } } })),
  });
}

export function casesIn(build: Build): number {
  return Object.values(build.manifest.splits ?? {}).reduce((sum, split) => sum + split.count, 0);
}

/** A hash short enough to compare by eye. */
export function brief(hash: string | null | undefined): string {
  return hash ? hash.replace("sha256:", "").slice(0, 10) : "unknown";
}

/** One case as it is now; a case of an old version may be gone. */
export function useCase(dataset: string, caseId: string) {
  return useQuery({
    queryKey: ["case", dataset, caseId],
    retry: false,
    staleTime: 60_000,
    queryFn: () =>
      unwrap(api.GET("/api/v1/cases/{dataset}/{case_id}", { params: { path: { dataset, case_id: caseId } } })),
  });
}
