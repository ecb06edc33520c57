/** The rules of curation: read, tried, saved. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMayRead } from "@/api/access";
import { api, type Schemas, unwrap, WATCH_MS } from "@/api/client";
import { oneOf, withoutBlanks } from "@/ui/address";

export type RulesView = Schemas["RulesView"];
export type Rules = Schemas["CurationRules"];
export type RulesChange = Schemas["RulesChange"];

export function useRules() {
  return useQuery({
    queryKey: ["rules"],
    queryFn: () => unwrap(api.GET("/api/v1/curation/rules")),
    refetchInterval: WATCH_MS,
  });
}

export function usePreview(rules: Rules) {
  return useQuery({
    queryKey: ["rules-preview", rules],
    queryFn: () => unwrap(api.POST("/api/v1/curation/rules/preview", { body: rules })),
    placeholderData: keepPreviousData,
    retry: false,
    enabled: useMayRead("editor"),
  });
}

export function useSaveRules() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (chosen: { rules: Rules; base: number; why: string }) =>
      unwrap(api.PUT("/api/v1/curation/rules", { body: chosen })),
    onSuccess: (view) => {
      cache.setQueryData(["rules"], view);
      for (const name of ["rules-preview", "kept-out", "overview"]) void cache.invalidateQueries({ queryKey: [name] });
    },
  });
}

const PARTS = ["thresholds", "limit", "checks", "fallback_texts"] as const;
type Part = (typeof PARTS)[number];

export function readRulesView(search: Record<string, unknown>): { part?: Part } {
  return withoutBlanks({ part: oneOf(PARTS, search.part) });
}
