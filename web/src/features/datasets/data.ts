/** What the Datasets pages ask the server for. A build never changes, so what was read of one is kept. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import { WATCH_MS } from "@/api/query";

export type Dataset = Schemas["DatasetSummary"];
export type Build = Schemas["BuildView"];
export type Manifest = Schemas["ManifestView"];
export type Entry = Schemas["SplitEntry"];
export type Pair = Schemas["NearPair"];
export type NewBuild = Schemas["NewBuild"];
export type Portrait = Schemas["Portrait"];
export type Lineage = Schemas["Lineage"];
export type Sampled = Schemas["Sampled"];

export type Diff = Schemas["BuildDiff"];

const FROZEN = { staleTime: Number.POSITIVE_INFINITY } as const;

export function useDatasets() {
  return useQuery({
    queryKey: ["datasets"],
    queryFn: () => unwrap(api.GET("/api/v1/datasets")),
    refetchInterval: WATCH_MS,
  });
}

export function useBuilds(dataset: string) {
  return useQuery({
    queryKey: ["builds", dataset],
    queryFn: () => unwrap(api.GET("/api/v1/builds", { params: { query: { dataset } } })),
    refetchInterval: WATCH_MS,
  });
}

/** The build, once it is made: the server answers a large one before that, and the same request waits for it again. */
async function frozen(wanted: NewBuild): Promise<Build> {
  const answer = await unwrap(api.POST("/api/v1/builds", { body: wanted }));
  return "manifest" in answer ? answer : frozen({ ...wanted, version: answer.version });
}

/** Freeze a dataset, then show it: the lists know of the new version before `then` is called. */
export function useFreeze(then: (build: Build) => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: frozen,
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
    queryFn: () => {
      const params = { path: { dataset }, query: { before, after } };
      return unwrap(api.GET("/api/v1/builds/{dataset}/diff", { params }));
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
