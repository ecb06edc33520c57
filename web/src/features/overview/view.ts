import { oneOf, withoutBlanks } from "@/ui/address";

export const PERIODS = ["24h", "7d", "30d", "90d", "365d"] as const;
export type Period = (typeof PERIODS)[number];
export const USUAL: Period = "30d";

export function readOverviewView(search: Record<string, unknown>): { period?: Period } {
  return withoutBlanks({ period: oneOf(PERIODS, search.period) });
}
