/** What the list shows, as it stands in the address bar. */
import { oneOf, text, withoutBlanks } from "@/ui/address";

export const STATUSES = ["completed", "failed", "started"] as const;
export const PERIODS = { "1h": 1, "24h": 24, "7d": 168, "30d": 720 } as const;

export type TraceView = {
  q?: string;
  status?: (typeof STATUSES)[number];
  period?: keyof typeof PERIODS;
  name?: string;
  model?: string;
  session?: string;
  user?: string;
};

export function readTraceView(search: Record<string, unknown>): TraceView {
  return withoutBlanks({
    q: text(search.q),
    status: oneOf(STATUSES, search.status),
    period: oneOf(Object.keys(PERIODS) as (keyof typeof PERIODS)[], search.period),
    name: text(search.name),
    model: text(search.model),
    session: text(search.session),
    user: text(search.user),
  });
}

/** The view in the words of the API. A period ends now, to the minute, so that a repeated question is the same question. */
export function asQuery(view: TraceView, now = Date.now()) {
  const { q, period, session, user, ...same } = view;
  const minute = Math.floor(now / 60_000) * 60_000;
  return {
    ...same,
    search: q,
    session_id: session,
    user_id: user,
    since: period ? new Date(minute - PERIODS[period] * 3_600_000).toISOString() : undefined,
  };
}
