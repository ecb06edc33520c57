/** Which cases ask the same question as others: counted by the server over a dataset, asked for beside the list. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import { count } from "@/ui/format";
import type { Case } from "./data";

export type RepeatedQuestion = Schemas["RepeatedQuestion"];
export type RepeatCounts = Schemas["RepeatCounts"];

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
