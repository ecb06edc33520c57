/** What the list shows, as it stands in the address bar. */
import { figure, oneOf, text, texts, withoutBlanks } from "@/ui/address";

export const STATUSES = ["completed", "failed", "started"] as const;
export const OUTCOMES = ["golden", "candidate", "failure", "correction", "none"] as const;
export const PERIODS = { "1h": 1, "24h": 24, "7d": 168, "30d": 720 } as const;
export const ORDERS = [
  "newest",
  "oldest",
  "slowest",
  "quickest",
  "most_tokens",
  "fewest_tokens",
  "dearest",
  "cheapest",
  "match",
] as const;

export type TraceView = {
  q?: string;
  status?: (typeof STATUSES)[number];
  period?: keyof typeof PERIODS;
  since?: string;
  until?: string;
  name?: string[];
  model?: string[];
  tag?: string[];
  became?: (typeof OUTCOMES)[number][];
  incomplete?: string[];
  app?: string[];
  exporter?: string;
  score?: string[];
  metadata?: string[];
  error?: string;
  took_min?: number;
  took_max?: number;
  tokens_min?: number;
  tokens_max?: number;
  cost_min?: number;
  cost_max?: number;
  session?: string;
  user?: string;
  order?: (typeof ORDERS)[number];
  columns?: string[];
};

export function readTraceView(search: Record<string, unknown>): TraceView {
  return withoutBlanks({
    q: text(search.q),
    status: oneOf(STATUSES, search.status),
    period: oneOf(Object.keys(PERIODS) as (keyof typeof PERIODS)[], search.period),
    since: text(search.since),
    until: text(search.until),
    name: texts(search.name),
    model: texts(search.model),
    tag: texts(search.tag),
    became: texts(search.became)?.filter((one) => (OUTCOMES as readonly string[]).includes(one)) as TraceView["became"],
    incomplete: texts(search.incomplete),
    app: texts(search.app),
    exporter: text(search.exporter),
    score: texts(search.score),
    metadata: texts(search.metadata),
    error: text(search.error),
    took_min: figure(search.took_min),
    took_max: figure(search.took_max),
    tokens_min: figure(search.tokens_min),
    tokens_max: figure(search.tokens_max),
    cost_min: figure(search.cost_min),
    cost_max: figure(search.cost_max),
    session: text(search.session),
    user: text(search.user),
    order: oneOf(ORDERS, search.order),
    columns: texts(search.columns),
  });
}

/** Whether anything narrows the list: columns and order do not. */
export function isNarrowed({ order: _, columns: __, ...filters }: TraceView): boolean {
  return Object.keys(filters).length > 0;
}

/** The filters in the words of the API. A period ends now, to the minute, so that a repeated question is the same question. */
export function asQuery(view: TraceView, now = Date.now()) {
  const { q, period, session, user, order: _, columns: __, since, until, ...same } = view;
  const minute = Math.floor(now / 60_000) * 60_000;
  const begin = period ? new Date(minute - PERIODS[period] * 3_600_000).toISOString() : utc(since);
  return { ...same, search: q, session_id: session, user_id: user, since: begin, until: utc(until) };
}

/** A moment as a person writes it is a moment where they are. */
function utc(moment: string | undefined): string | undefined {
  const read = moment ? new Date(moment) : undefined;
  return read && !Number.isNaN(read.getTime()) ? read.toISOString() : undefined;
}
