/** What the overview asks for, again every few seconds while somebody looks at it. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import type { Period } from "./view";

export type Overview = Schemas["Overview"];

const WATCH_MS = 5_000;

export function useOverview(period: Period) {
  return useQuery({
    queryKey: ["overview", period],
    queryFn: () => unwrap(api.GET("/api/v1/stats/overview", { params: { query: { period } } })),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });
}
