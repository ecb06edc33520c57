/** What the Traces pages ask the server for. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, keepUp, type Schemas, unwrap, WATCH_MS } from "@/api/client";
import { asQuery, type TraceView } from "./view";

export type Trace = Schemas["Trace"];
/** A trace of the list with what became of it, and where a search found it. */
export type ListedTrace = Trace & { became?: Schemas["TraceOutcome"]; hit?: Schemas["TraceHit"] };
export type Span = Schemas["Span"];
export type Score = Schemas["Score"];
export type Explanation = Schemas["Explanation"];
export type TraceFacets = Schemas["TraceFacets"];

const PAGE = 100;
/** Characters of a text that a list may show; a search looks at fewer. */
const PREVIEW = 500;
const SESSION_TURNS = 200;

export function useTraces(view: TraceView) {
  return useInfiniteQuery({
    queryKey: ["traces", view],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/api/v1/traces", {
          params: {
            query: {
              ...asQuery(view),
              order: view.order,
              scores: view.columns?.includes("scores") || undefined,
              limit: PAGE,
              preview: PREVIEW,
              before: pageParam,
            },
          },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    ...keepUp,
  });
}

/** What the list can be narrowed by, with counts. */
export function useTraceFacets({ order: _, columns: __, ...view }: TraceView) {
  return useQuery({
    queryKey: ["trace-facets", view],
    queryFn: () => unwrap(api.GET("/api/v1/traces/facets", { params: { query: asQuery(view) } })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export function useComments(traceId: string) {
  return useQuery({
    queryKey: ["comments", traceId],
    queryFn: () => unwrap(api.GET("/api/v1/traces/{trace_id}/comments", { params: { path: { trace_id: traceId } } })),
  });
}

/** A trace of megabytes is not sent anew every few seconds; it is renewed when somebody comes back to it. */
const isLarge = (trace: Trace | undefined) =>
  trace !== undefined && (trace.spans.length > 500 || trace.input.length + (trace.output?.length ?? 0) > 500_000);

export function useTrace(traceId: string) {
  return useQuery({
    queryKey: ["trace", traceId],
    queryFn: () => unwrap(api.GET("/api/v1/traces/{trace_id}", { params: { path: { trace_id: traceId } } })),
    refetchInterval: (query) => (isLarge(query.state.data) ? false : WATCH_MS),
  });
}

/** The other turns of the conversation, oldest first. */
export function useSession(sessionId: string | null | undefined) {
  return useQuery({
    queryKey: ["session", sessionId],
    enabled: Boolean(sessionId),
    queryFn: async () => {
      const page = await unwrap(
        api.GET("/api/v1/traces", {
          params: { query: { session_id: sessionId, limit: SESSION_TURNS, preview: PREVIEW } },
        }),
      );
      return { turns: page.traces.toReversed(), cut: page.next !== null };
    },
  });
}

export function useExplanations(traceId: string) {
  return useQuery({
    queryKey: ["explain", traceId],
    queryFn: () => unwrap(api.GET("/api/v1/traces/{trace_id}/explain", { params: { path: { trace_id: traceId } } })),
    refetchInterval: WATCH_MS,
  });
}

/** The cases that were made of a trace, whatever they are worth. */
export function useCasesOf(traceId: string) {
  return useQuery({
    queryKey: ["cases-of", traceId],
    queryFn: async () => {
      const query = { trace_id: traceId, candidates: "include" as const, preview: PREVIEW, limit: 20 };
      return (await unwrap(api.GET("/api/v1/cases", { params: { query } }))).cases;
    },
    refetchInterval: WATCH_MS,
  });
}

/** The case of a trace, what is held of the recorded answer, and the best evidence of the right one. */
export type OwnCase = { dataset: string | null; held: "right" | "wrong" | "unknown"; reference: string };

/** Never gives an answer that is held wrong as the reference, nor one for which only silence speaks. */
export function useOwnCase(traceId: string) {
  return useQuery({
    queryKey: ["own-case", traceId],
    enabled: traceId !== "",
    gcTime: 0,
    queryFn: async (): Promise<OwnCase> => {
      const query = { trace_id: traceId, candidates: "include" as const, preview: 1, limit: 20 };
      const { cases } = await unwrap(api.GET("/api/v1/cases", { params: { query } }));
      const listed = cases.find(({ id }) => id === traceId) ?? cases[0];
      if (!listed) return { dataset: null, held: "unknown", reference: "" };
      const path = { dataset: listed.dataset, case_id: listed.id };
      const own = await unwrap(api.GET("/api/v1/cases/{dataset}/{case_id}", { params: { path } }));
      const { text, origin } = own.reference_answer ?? {};
      const held = own.entry_type !== "golden" ? "wrong" : origin && origin !== "candidate" ? "right" : "unknown";
      const wrong = held === "wrong" && text === own.output;
      return {
        dataset: own.dataset,
        held,
        reference: origin === "candidate" || wrong ? "" : (text ?? ""),
      };
    },
  });
}

/** The datasets that have cases. */
export const useCaseDatasets = () =>
  useQuery({
    queryKey: ["case-datasets"],
    queryFn: async () => (await unwrap(api.GET("/api/v1/stats/facets"))).datasets,
    staleTime: 60_000,
  });

/** The messages, calls, tools and contexts of a trace in one shape. */
export function useConversation(traceId: string) {
  return useQuery({
    queryKey: ["conversation", traceId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/traces/{trace_id}/conversation", { params: { path: { trace_id: traceId } } })),
  });
}
