/** What the Cases pages ask the server for. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import { keepUp } from "@/api/query";
import { asQuery, type CaseView } from "./view";

export type Case = Schemas["Case"];
export type Revision = Schemas["Revision"];

const PAGE = 100;

export function useCases(view: CaseView) {
  return useInfiniteQuery({
    queryKey: ["cases", view],
    queryFn: ({ pageParam }) =>
      unwrap(api.GET("/api/v1/cases", { params: { query: { ...asQuery(view), limit: PAGE, before: pageParam } } })),
    initialPageParam: null as number | null,
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
  });
}

export function useHistory(dataset: string, caseId: string) {
  return useQuery({
    queryKey: ["case-history", dataset, caseId],
    queryFn: () =>
      unwrap(api.GET("/api/v1/cases/{dataset}/{case_id}/history", { params: { path: { dataset, case_id: caseId } } })),
  });
}

export function useFacets() {
  return useQuery({
    queryKey: ["facets"],
    queryFn: () => unwrap(api.GET("/api/v1/stats/facets")),
    staleTime: 60_000,
  });
}
