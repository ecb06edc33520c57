/** Traces that the chosen period leaves out, and where they can be seen. */
import { PERIODS, type Period } from "./view";

const DAYS: Record<Period, number> = { "24h": 1, "7d": 7, "30d": 30, "90d": 90, "365d": 365 };
const DAY_MS = 86_400_000;

type Held = { traces: number; in_period: number; oldest: string | null; as_of: string };

/** `period` is the shortest that holds every trace; without one some are older than the longest period. */
export type Older = { hidden: number; period?: Period };

/** What to say of older traces; nothing where the period holds at least half of all. */
export function olderTraces({ traces, in_period, oldest, as_of }: Held, shown: Period): Older | null {
  const hidden = traces - in_period;
  if (hidden <= 0 || in_period * 2 >= traces) return null;
  if (oldest === null) return { hidden };
  const days = (Date.parse(as_of) - Date.parse(oldest)) / DAY_MS;
  const period = PERIODS.find((each) => DAYS[each] > DAYS[shown] && DAYS[each] >= days);
  return period ? { hidden, period } : { hidden };
}
