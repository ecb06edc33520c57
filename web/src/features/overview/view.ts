import { oneOf, withoutBlanks } from "@/ui/address";

export const PERIODS = ["24h", "7d", "30d", "90d", "365d"] as const;
export type Period = (typeof PERIODS)[number];
export const USUAL: Period = "30d";
export const GROUPINGS = ["model", "name", "time"] as const;
export type Grouping = (typeof GROUPINGS)[number];
export const MEASURES = ["traces", "cost", "tokens", "p50", "p95", "p99", "failed", "failing"] as const;
export type Measure = (typeof MEASURES)[number];

export type OverviewView = { period?: Period; by?: Grouping; measure?: Measure };

export function readOverviewView(search: Record<string, unknown>): OverviewView {
  return withoutBlanks({
    period: oneOf(PERIODS, search.period),
    by: oneOf(GROUPINGS, search.by),
    measure: oneOf(MEASURES, search.measure),
  });
}
