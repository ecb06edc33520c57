/** What the Datasets pages ask the server for. A build never changes, so what was read of one is kept. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Schemas, unwrap, WATCH_MS } from "@/api/client";
import { oneOf, text, withoutBlanks } from "@/ui/address";

export type Dataset = Schemas["DatasetSummary"];
export type Build = Schemas["BuildView"];
export type Manifest = Schemas["ManifestView"];
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

/** How many candidates pass the filters of a build. */
export function useCandidates(dataset: string, filters: Record<string, string>, enabled: boolean) {
  return useQuery({
    queryKey: ["candidates", dataset, filters],
    enabled,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const { tag, ...same } = filters;
      const query = { dataset, ...same, ...(tag && { tag: [tag] }), limit: 1, preview: 1 };
      return (await unwrap(api.GET("/api/v1/cases", { params: { query } }))).candidates_left_out;
    },
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

/** What is looked at of a dataset, as it stands in the address bar. */
const LOOKS = ["versions", "compare", "sample"] as const;
export type Look = (typeof LOOKS)[number];

type DatasetView = {
  look?: Look;
  version?: string;
  before?: string;
  seed?: number;
  split?: string;
  case?: string;
};

export function readDatasetView(search: Record<string, unknown>): DatasetView {
  const seed = Number(search.seed);
  return withoutBlanks({
    look: oneOf(LOOKS, search.look),
    version: text(search.version),
    before: text(search.before),
    seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : undefined,
    split: text(search.split),
    case: text(search.case),
  });
}

/** A record of any build as a person reads it. Frozen cases and RAG records call the same things by different names. */
type ReadContext = { text: string; source: string; cited: boolean };
type Reading = { asked: string; answer: string; contexts: ReadContext[] };

const ASKED = ["input", "question", "instruction"];
const ANSWER = ["expected", "reference_answer", "reference_summary", "reference_context", "output"];
const MARKER = /\[(\d+)\]/g;

/** `required` are the fields that a split of one's own cannot do without: the first asks, the last answers. */
export function readingOf(record: Record<string, unknown>, required: string[] = []): Reading {
  const asked = firstText(record, [...ASKED, ...required.slice(0, 1)]);
  const answer = firstText(record, [...ANSWER, ...required.slice(1).reverse()]);
  return { asked, answer, contexts: contextsOf(record, answer) };
}

function firstText(record: Record<string, unknown>, names: string[]): string {
  return names.map((name) => record[name]).find((value): value is string => typeof value === "string") ?? "";
}

/** A context is cited by its label, or by its place where it has none. */
function contextsOf(record: Record<string, unknown>, answer: string): ReadContext[] {
  const given = Array.isArray(record.contexts) ? record.contexts : [];
  const sources = Array.isArray(record.sources) ? record.sources : [];
  const markers = new Set([...answer.matchAll(MARKER)].map((found) => found[1]));
  return given.map((context: unknown, place) => {
    const { text, source } = typeof context === "string" ? { text: context, source: sources[place] } : partsOf(context);
    const label = /^\[(\d+)\]/.exec(text)?.[1] ?? String(place + 1);
    return { text, source: typeof source === "string" ? source : "", cited: markers.has(label) };
  });
}

function partsOf(context: unknown): { text: string; source: unknown } {
  const { text, source } = (context ?? {}) as { text?: unknown; source?: unknown };
  return { text: typeof text === "string" ? text : "", source };
}
