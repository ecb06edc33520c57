/** What the Cases pages ask the server for. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import { keepUp, WATCH_MS } from "@/api/query";
import { asQuery, type CaseView } from "./view";

export type Case = Schemas["Case"];
export type CaseDetail = Schemas["CaseDetail"];
export type Revision = Schemas["Revision"];
export type CaseFacets = Schemas["CaseFacets"];

const PAGE = 100;
/** Characters of a text that a list may show. */
const PREVIEW = 500;

export function useCases(view: CaseView) {
  return useInfiniteQuery({
    queryKey: ["cases", view],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/api/v1/cases", {
          params: { query: { ...asQuery(view), order: view.order, limit: PAGE, preview: PREVIEW, before: pageParam } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    ...keepUp,
  });
}

export function useCase(dataset: string, caseId: string) {
  return useQuery({
    queryKey: ["case", dataset, caseId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/cases/{dataset}/{case_id}", { params: { path: { dataset, case_id: caseId } } })),
    refetchInterval: WATCH_MS,
  });
}

/** What came after a person's decision on the case and speaks against it, if anything did. */
export function useOpenQuestion(dataset: string, caseId: string) {
  const file = useQuery({
    queryKey: ["review", "case", dataset, caseId],
    queryFn: () => unwrap(api.GET("/api/v1/review/case", { params: { query: { dataset, id: caseId } } })),
    retry: false,
  });
  return file.data?.needs_look;
}

export function useHistory(dataset: string, caseId: string) {
  return useQuery({
    queryKey: ["case-history", dataset, caseId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/cases/{dataset}/{case_id}/history", { params: { path: { dataset, case_id: caseId } } })),
  });
}

/** What the list can be narrowed by, with counts. */
export function useFacets({ order: _, columns: __, ...view }: CaseView) {
  return useQuery({
    queryKey: ["case-facets", view],
    queryFn: () => unwrap(api.GET("/api/v1/cases/facets", { params: { query: asQuery(view) } })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}
