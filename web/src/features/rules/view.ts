import { oneOf, withoutBlanks } from "@/ui/address";

export const PARTS = ["thresholds", "limit", "checks", "fallback_texts"] as const;
export type Part = (typeof PARTS)[number];

export function readRulesView(search: Record<string, unknown>): { part?: Part } {
  return withoutBlanks({ part: oneOf(PARTS, search.part) });
}
