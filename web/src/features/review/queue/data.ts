/** The queue's questions to the server, and the verbs of a reviewer. */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { api, type Schemas, unwrap } from "@/api/client";

export type Case = Schemas["Case"];
export type Question = Schemas["ReviewQuestion"];
export type CaseFile = Schemas["CaseFile"];
export type QueueItem = Schemas["QueueItem"];
export type Verdict = Schemas["ReviewVerdict"];
export type Filters = Partial<
  Pick<
    Schemas["QueueQuery"],
    | "dataset"
    | "kind"
    | "entry_type"
    | "review"
    | "status"
    | "standing"
    | "reviewer"
    | "part"
    | "tag"
    | "source"
    | "check"
    | "text"
    | "order"
  >
>;
export type Key = { dataset: string; id: string };
export type Changes = { [field: string]: unknown };

const PAGE = 500;

export function useQueue(filters: Filters) {
  return useInfiniteQuery({
    queryKey: ["review", "queue", filters],
    initialPageParam: 0,
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/api/v1/review/queue", {
          params: { query: { ...filters, limit: PAGE, offset: pageParam } },
        }),
      ),
    getNextPageParam: (last, pages) => {
      const seen = pages.reduce((sum, page) => sum + page.items.length, 0);
      return seen < last.total ? seen : undefined;
    },
  });
}

const caseFile = (key: Key | null) => ({
  queryKey: ["review", "case", key?.dataset, key?.id],
  enabled: key !== null,
  placeholderData: undefined,
  queryFn: () => unwrap(api.GET("/api/v1/review/case", { params: { query: key as Key } })),
});

const caseEvidence = (key: Key | null) => ({
  queryKey: ["review", "evidence", key?.dataset, key?.id],
  enabled: key !== null,
  staleTime: 60_000,
  queryFn: () => unwrap(api.GET("/api/v1/review/evidence", { params: { query: key as Key } })),
});

/** Why the reference of a case may no longer hold, with both sides. */
export const useStaleReasons = (key: Key) =>
  useQuery({
    queryKey: ["review", "case", key.dataset, key.id, "stale"],
    queryFn: () => unwrap(api.GET("/api/v1/stale/case", { params: { query: key } })),
  });

export const settleStale = (key: Key, decision: Schemas["StaleDecision"]) =>
  unwrap(api.POST("/api/v1/stale/decision", { params: { query: key }, body: decision }));

export const useCaseFile = (key: Key | null) => useQuery(caseFile(key));
export const useCaseEvidence = (key: Key | null) => useQuery(caseEvidence(key));

/** Loads cases before they are needed, the first of them first. */
export function usePreload(keys: readonly Key[]) {
  const queries = useQueryClient();
  const names = JSON.stringify(keys.map(({ dataset, id }) => ({ dataset, id })));
  useEffect(() => {
    const fresh = { staleTime: 60_000 };
    for (const key of JSON.parse(names) as Key[]) {
      const { enabled: _, ...file } = caseFile(key);
      const { enabled: __, ...evidence } = caseEvidence(key);
      void queries.prefetchQuery({ ...file, ...fresh });
      void queries.prefetchQuery({ ...evidence, ...fresh });
    }
  }, [queries, names]);
}

/** Whether a case can be shown at once. */
export function useIsLoaded() {
  const queries = useQueryClient();
  return (key: Key) => queries.getQueryData(caseFile(key).queryKey) !== undefined;
}

export const saveChanges = (key: Key, version: number, changes: Changes) =>
  unwrap(
    api.PATCH("/api/v1/review/case", {
      params: { query: key },
      body: { version, changes, why: "" },
    }),
  );

export type Decision = {
  verdict: Verdict;
  comment?: string;
  changes?: Changes;
  adjudicate?: boolean;
  overrideBase?: boolean;
};

export const sendVerdict = (key: Key, version: number, decision: Decision) =>
  unwrap(
    api.POST("/api/v1/decisions", {
      params: { query: key },
      body: {
        version,
        verdict: decision.verdict,
        comment: decision.comment ?? "",
        changes: decision.changes ?? {},
        adjudicate: decision.adjudicate ?? false,
        override_base: decision.overrideBase ?? false,
      },
    }),
  );

export const saveAnswers = (key: Key, answers: { [question: string]: unknown }) =>
  unwrap(api.PUT("/api/v1/review/answers", { params: { query: key }, body: { answers } }));

export const saveQuestions = (dataset: string, questions: Question[]) =>
  unwrap(api.PUT("/api/v1/review/questions", { params: { query: { dataset } }, body: { questions } }));

export const claimNext = (filters: Filters) =>
  unwrap(
    api.POST("/api/v1/review/claims", {
      body: { status: "active", text: "", ...filters, order: filters.order ?? "oldest" },
    }),
  );

export const sayMany = (cases: (Key & { version: number })[], verdict: Verdict) =>
  unwrap(
    api.POST("/api/v1/decisions/bulk", {
      body: { cases: cases.map(({ dataset, id, version }) => ({ dataset, id, version })), verdict, comment: "" },
    }),
  );

export const assign = (cases: Key[], reviewer: string) =>
  unwrap(
    api.POST("/api/v1/review/assignments", {
      body: { cases: cases.map(({ dataset, id }) => ({ dataset, id })), reviewer },
    }),
  );

export const useProgress = () =>
  useQuery({
    queryKey: ["review", "progress"],
    queryFn: () => {
      const midnight = new Date();
      midnight.setHours(0, 0, 0, 0);
      return unwrap(api.GET("/api/v1/review/progress", { params: { query: { day_began: midnight.toISOString() } } }));
    },
  });

/** The values by which the queue can be narrowed: those of the cases there are. */
export const useFacets = () =>
  useQuery({ queryKey: ["review", "facets"], queryFn: () => unwrap(api.GET("/api/v1/cases/facets")) });

export const useAgreement = () =>
  useQuery({ queryKey: ["review", "agreement"], queryFn: () => unwrap(api.GET("/api/v1/review/agreement")) });

/** After anything changed: lists, counts and the case itself are asked for again. */
export function useRefresh() {
  const queries = useQueryClient();
  return () =>
    Promise.all(
      ["queue", "case", "progress", "agreement"].map((name) =>
        queries.invalidateQueries({ queryKey: ["review", name] }),
      ),
    );
}

const QUIET_MS = 400;

/** The same, once no verdict has come for a moment: twenty in a row ask for the queue once. */
export function useRefreshSoon() {
  const refresh = useRefresh();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  return () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void refresh(), QUIET_MS);
  };
}
