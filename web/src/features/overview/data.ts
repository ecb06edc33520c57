/** What the overview asks for, again every few seconds while somebody looks at it. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import type { Grouping, Period } from "./view";

export type Overview = Schemas["Overview"];
export type Traffic = Schemas["Traffic"];
export type Alert = Schemas["Alert"];
export type Reason = Schemas["KeptOutReason"];

const WATCH_MS = 5_000;

export function useOverview(period: Period) {
  return useQuery({
    queryKey: ["overview", period],
    queryFn: () => unwrap(api.GET("/api/v1/stats/overview", { params: { query: { period } } })),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });
}

/** Figures over time need no grouping; those by model come along. */
export function useTraffic(period: Period, by: Grouping) {
  const grouped = by === "name" ? "name" : "model";
  return useQuery({
    queryKey: ["traffic", period, grouped],
    queryFn: () => unwrap(api.GET("/api/v1/stats/traffic", { params: { query: { period, by: grouped } } })),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });
}

export function useKeptOut(period: Period) {
  return useQuery({
    queryKey: ["kept-out", period],
    queryFn: () => unwrap(api.GET("/api/v1/stats/kept-out", { params: { query: { period } } })),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });
}

/** Check and curate the traces that wait or that no check has seen. */
export function useCheckNow() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/curation")),
    onSuccess: () => {
      for (const name of ["kept-out", "overview"]) void cache.invalidateQueries({ queryKey: [name] });
    },
  });
}

export function useAgreement() {
  return useQuery({
    queryKey: ["policy-agreement"],
    queryFn: () => unwrap(api.GET("/api/v1/policies/agreement")),
    refetchInterval: 6 * WATCH_MS,
  });
}

export function useAlerts() {
  return useQuery({
    queryKey: ["alerts"],
    queryFn: () => unwrap(api.GET("/api/v1/alerts", { params: { query: { limit: 10 } } })),
    refetchInterval: WATCH_MS,
  });
}
