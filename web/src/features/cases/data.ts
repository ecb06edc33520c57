/** What the Cases pages ask the server for: cases, where their reference comes from, which of them repeat a question. */
import { keepPreviousData, useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { api, keepUp, type Schemas, unwrap, WATCH_MS } from "@/api/client";
import { count } from "@/ui/format";
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

/** What the reference of a case rests on. */
export function useBasis(dataset: string, id: string) {
  return useQuery({
    queryKey: ["case-basis", dataset, id],
    queryFn: () => unwrap(api.GET("/api/v1/stale/basis", { params: { query: { dataset, id } } })),
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

const WORDS: Record<string, string> = {
  person: "A person wrote or approved it",
  source: "Stated by the source of the case",
  confirmed: "The recorded answer, which a person's score confirmed",
  unconfirmed: "The recorded answer, which an outcome or a judge speaks for and no person has confirmed",
  candidate: "The recorded answer, which nobody has confirmed",
};

/** Where the reference of a case comes from, in words. */
export function referenceOrigin({ reference_answer: reference, revised }: CaseDetail): string {
  if (!reference) return "No reference: metrics that need one leave this case out";
  if (reference.origin !== "revised") return WORDS[reference.origin] ?? reference.origin;
  return revised?.trace_id
    ? "The assistant's own corrected answer, later in the conversation"
    : "The correction: the right answer that somebody sent";
}

/** Which cases ask the same question as others: counted by the server over a dataset, asked for beside the list. */
export type RepeatedQuestion = Schemas["RepeatedQuestion"];
type RepeatCounts = Schemas["RepeatCounts"];

const MOST = 500;

/** How many cases ask the question of each row, by `dataset/id`; rows whose question nobody else asks are left out. */
export function useRepeats(rows: readonly Case[]): ReadonlyMap<string, RepeatedQuestion> {
  return useQueries({
    queries: [...byDataset(rows)].map(([dataset, ids]) => ({
      queryKey: ["repeats", dataset, ids],
      queryFn: () => repeatsOf(dataset, ids),
      staleTime: 30_000,
    })),
    combine: (answers) =>
      new Map(
        answers.flatMap(({ data }) =>
          data ? Object.entries(data.of).map(([id, question]) => [`${data.dataset}/${id}`, question] as const) : [],
        ),
      ),
  });
}

/** The counts of a dataset that has cases in the store; one that stands in files alone has none to count. */
export function useRepeatCounts(dataset: string, stored: boolean) {
  return useQuery({
    enabled: stored,
    queryKey: ["repeats", dataset],
    queryFn: () => repeatsOf(dataset, []),
    staleTime: 30_000,
    retry: false,
  });
}

async function repeatsOf(dataset: string, ids: readonly string[]) {
  const params = { path: { dataset }, query: { case: [...ids] } };
  return { dataset, ...(await unwrap(api.GET("/api/v1/datasets/{dataset}/repeats", { params }))) };
}

/** The newest ids of each dataset, in an order that a longer list does not change. */
export function byDataset(rows: readonly Pick<Case, "dataset" | "id">[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const row of rows) {
    const known = ids.get(row.dataset) ?? [];
    if (known.length < MOST) ids.set(row.dataset, [...known, row.id]);
  }
  return ids;
}

export function oneOf({ cases }: RepeatedQuestion): string {
  return `one of ${count(cases)} repeats`;
}

/** What a dataset page says of repeats; nothing where no question is asked twice. */
export function repeatsLine({ questions, repeating, looked_at, cases }: RepeatCounts): string | undefined {
  if (questions === 0) return undefined;
  const asked = questions === 1 ? "1 question is" : `${count(questions)} questions are`;
  const among = looked_at < cases ? `, among the newest ${count(looked_at)}` : "";
  return `${asked} asked more than once, by ${count(repeating)} cases${among}`;
}
