/** Every trace, newest first. Pages are asked for as they are scrolled to, so a million traces cost what one page costs. */
import { getRouteApi, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { type KeyboardEvent, useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { changed, localMinute } from "@/ui/address";
import { Beginning, Snippets } from "@/ui/Beginning";
import { GAPS } from "@/ui/cases";
import { FilterBar } from "@/ui/filterbar/FilterBar";
import type { Field, Option } from "@/ui/filterbar/fields";
import { ColumnPicker, OrderPicker, Views } from "@/ui/filterbar/Views";
import { count, plural } from "@/ui/format";
import { Split } from "@/ui/Page";
import { DensitySwitch, RecordList } from "@/ui/RecordList";
import { Empty, ListState } from "@/ui/states";
import { CHOOSABLE, columnsOf, shownColumns } from "./columns";
import { type ListedTrace, type TraceFacets, useTraceFacets, useTraces } from "./data";
import { WHOSE } from "./Scores";
import { BulkActions } from "./TraceActions";
import classes from "./traces.module.css";
import { isNarrowed, ORDERS, OUTCOMES, PERIODS, STATUSES, type TraceView } from "./view";

const route = getRouteApi("/traces");
const keyOf = (trace: ListedTrace) => trace.id;
const rowsOf = (pages: readonly Schemas["TracePage"][]): ListedTrace[] =>
  pages.flatMap(({ traces, became, hits }) =>
    traces.map((trace) => ({ ...trace, became: became[trace.id], hit: hits[trace.id] })),
  );

export function TracesPage() {
  const view = route.useSearch();
  const navigate = useNavigate();
  const { traceId } = useParams({ strict: false });
  const traces = useTraces(view);
  const rows = useMemo(() => rowsOf(traces.data?.pages ?? []), [traces.data]);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => columnsOf(view), [view]);
  const unindexed = traces.data?.pages.at(-1)?.unindexed ?? 0;
  const show = (next: TraceView) => void navigate({ to: ".", search: next, replace: true });

  return (
    <Split
      title="Traces"
      lead="What the app really did"
      filters={
        <>
          <Presets view={view} onChange={show} />
          <TraceFilters view={view} onChange={show} />
          {unindexed > 0 && (
            <p className={classes.unindexed} role="status">
              {unindexed < 10_000 ? plural(unindexed, "recent trace") : "10,000 or more traces"} cannot be searched yet.
            </p>
          )}
          {!traceId && <Histogram view={view} onChange={show} />}
        </>
      }
      list={
        <ListState what="traces" query={traces} rows={rows} empty={<NoTraces filtered={isNarrowed(view)} />}>
          {marked.size > 0 && <BulkActions traceIds={[...marked]} onClear={() => setMarked(new Set())} />}
          <RecordList
            label="Traces"
            rows={rows}
            columns={shown.columns}
            template={shown.template}
            marked={marked}
            onMark={setMarked}
            rowKey={keyOf}
            selected={traceId ?? null}
            href={(row) => `/traces/${encodeURIComponent(row.id)}`}
            open={(row) =>
              void navigate({
                to: "/traces/$traceId",
                params: { traceId: row.id },
                search: view,
                hash: true,
                replace: Boolean(traceId),
              })
            }
            more={traces.hasNextPage}
            loadMore={traces.fetchNextPage}
            loadingMore={traces.isFetchingNextPage}
            end={`End of the list: ${plural(rows.length, "trace")}`}
          />
        </ListState>
      }
      record={traceId ? <Outlet /> : null}
    />
  );
}

function NoTraces({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No trace passes these filters">Widen the period or clear the search.</Empty>;
  return (
    <Empty title="No traces yet">
      <Beginning of="traces" sample>
        <p>Or let an app send its traces here by itself:</p>
        <Snippets />
      </Beginning>
    </Empty>
  );
}

/** From midnight to midnight, where the reader is. */
function yesterday(): TraceView {
  const today = new Date().setHours(0, 0, 0, 0);
  const before = new Date(today).setDate(new Date(today).getDate() - 1);
  return { since: localMinute(before), until: localMinute(today) };
}

const WHEN = ["since", "until", "period"] as const;
const WHAT = ["became", "status", "incomplete"] as const;

/** A list that people ask for every day; it takes the place of what was asked for by the same filters. */
type Preset = { label: string; keys: readonly (keyof TraceView)[]; view: () => TraceView };

const PRESETS: Preset[] = [
  { label: "Yesterday", keys: WHEN, view: yesterday },
  { label: "Failures", keys: WHAT, view: () => ({ became: ["failure"] }) },
  { label: "Errors", keys: WHAT, view: () => ({ status: "failed" }) },
  { label: "Incomplete", keys: WHAT, view: () => ({ incomplete: ["any"] }) },
  { label: "No case", keys: WHAT, view: () => ({ became: ["none"], incomplete: ["none"] }) },
];

function without(view: TraceView, keys: readonly (keyof TraceView)[]): TraceView {
  return Object.fromEntries(Object.entries(view).filter(([key]) => !(keys as readonly string[]).includes(key)));
}

/** The usual lists; one of a time and one of an outcome go together, and what was searched for stays. */
function Presets({ view, onChange }: TraceFiltersProps) {
  const { order, columns } = view;
  const isSet = ({ keys, view: chosen }: Preset) => {
    const wanted = chosen();
    return keys.every((key) => JSON.stringify(view[key]) === JSON.stringify(wanted[key]));
  };
  const button = (label: string, pressed: boolean, next: TraceView) => (
    <button key={label} type="button" className={classes.preset} aria-pressed={pressed} onClick={() => onChange(next)}>
      {label}
    </button>
  );
  return (
    <nav className={classes.presets} aria-label="Usual lists">
      {button("All", !isNarrowed(view), { ...(order && { order }), ...(columns && { columns }) })}
      {PRESETS.map((preset) => {
        const rest = without(view, preset.keys);
        const pressed = isSet(preset);
        return button(preset.label, pressed, pressed ? rest : { ...rest, ...preset.view() });
      })}
    </nav>
  );
}

const HOUR = 3_600_000;
/** As many bars as are told apart. */
const MOST_BARS = 90;

/** When the traces of the list began, and which of them failed; a bar narrows the list to its time. */
function Histogram({ view, onChange }: TraceFiltersProps) {
  const { data } = useTraceFacets(view);
  const times = data?.times ?? [];
  if (times.length < 2) return null;
  const bars = filled(times);
  const most = Math.max(...bars.map((bar) => bar.traces));
  const newest = bars.findLastIndex((bar) => bar.traces > 0);
  const words = (bar: Bar) => `${plural(bar.traces, "trace")}${bar.failed ? `, ${count(bar.failed)} failed` : ""}`;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    <div role="group" className={classes.histogram} aria-label="Traces of this list over time" onKeyDown={moveAlong}>
      {bars.map((bar, index) => (
        <button
          key={bar.from}
          type="button"
          // One stop of the Tab key for all of them; the arrows go from bar to bar.
          tabIndex={index === newest ? 0 : -1}
          title={`${dayLabel(bar)}: ${words(bar)}`}
          aria-label={`${dayLabel(bar)}: ${words(bar)}`}
          disabled={bar.traces === 0}
          onClick={() =>
            onChange({ ...without(view, WHEN), since: localMinute(bar.from), until: localMinute(bar.until) })
          }
        >
          <span style={{ height: `${(100 * (bar.traces - bar.failed)) / most}%` }} />
          <span data-failed style={{ height: `${(100 * bar.failed) / most}%` }} />
        </button>
      ))}
      <span className={classes.histogramEnds} aria-hidden="true">
        <span>{dayLabel(bars[0] as Bar)}</span>
        <span>{dayLabel(bars.at(-1) as Bar)}</span>
      </span>
    </div>
  );
}

/** Moves the focus among the bars that hold traces. */
function moveAlong(event: KeyboardEvent<HTMLElement>) {
  const bars = [...event.currentTarget.querySelectorAll<HTMLElement>("button:enabled")];
  const at = bars.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  bars[to]?.focus();
}

type Bar = { from: number; until: number; traces: number; failed: number };

const hourly = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const daily = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const dayLabel = ({ from, until }: Bar) => (until - from < 24 * HOUR ? hourly : daily).format(from);

/** Bars of one width from the first to the last time; several hours or days share one where there are many. */
function filled(times: TraceFacets["times"]): Bar[] {
  const byHour = (times[0]?.start.length ?? 0) > 10;
  const at = (start: string) => Date.parse(byHour ? `${start}:00:00Z` : `${start}T00:00:00Z`);
  const unit = byHour ? HOUR : 24 * HOUR;
  const first = at(times[0]?.start ?? "");
  const units = (at(times.at(-1)?.start ?? "") - first) / unit + 1;
  const width = unit * Math.ceil(units / MOST_BARS);
  const bars = Array.from({ length: Math.ceil((units * unit) / width) }, (_, index) => {
    const from = first + index * width;
    return { from, until: from + width, traces: 0, failed: 0 };
  });
  for (const { start, traces, failed } of times) {
    const bar = bars[Math.floor((at(start) - first) / width)];
    if (bar) Object.assign(bar, { traces: bar.traces + traces, failed: bar.failed + failed });
  }
  return bars;
}

const STATUS = { completed: "Completed", failed: "Failed", started: "Running" };
const PERIOD = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days" };
const ORDER = {
  newest: "Newest first",
  oldest: "Oldest first",
  slowest: "Slowest first",
  quickest: "Quickest first",
  most_tokens: "Most tokens first",
  fewest_tokens: "Fewest tokens first",
  dearest: "Dearest first",
  cheapest: "Cheapest first",
  match: "Best match first",
};
const HINT = "Words said anywhere in the conversation, by a tool or in an error, or the beginning of an id";

type TraceFiltersProps = { view: TraceView; onChange: (next: TraceView) => void };

/** The filters of the list, with the values its traces have. */
function TraceFilters({ view, onChange }: TraceFiltersProps) {
  const facets = useTraceFacets(view);
  const orders = ORDERS.filter((order) => order !== "match" || view.q).map((value) => ({ value, label: ORDER[value] }));
  return (
    <FilterBar
      what="traces"
      hint={HINT}
      view={view}
      fields={fieldsOf(facets.data)}
      onChange={onChange}
      note={
        facets.data && !facets.data.exact
          ? `Counts are of the newest ${count(facets.data.total)} traces of this list.`
          : undefined
      }
    >
      <OrderPicker
        orders={orders}
        value={view.order}
        onChange={(order) => onChange(changed(view, "order", order as TraceView["order"] | null))}
      />
      <ColumnPicker
        columns={CHOOSABLE}
        shown={shownColumns(view)}
        onChange={(columns) => onChange(changed(view, "columns", columns))}
      />
      <DensitySwitch />
      <Views page="traces" />
    </FilterBar>
  );
}

function fieldsOf(facets: TraceFacets | undefined): Field<TraceView>[] {
  const counted = (values: readonly Option[] | undefined) => values ?? [];
  const statuses = STATUSES.map((value) => ({
    value,
    label: STATUS[value],
    count: facets?.statuses.find((one) => one.value === value)?.count,
  }));
  return [
    { type: "choice", key: "status", label: "Status", options: statuses },
    {
      type: "choice",
      key: "period",
      label: "Period",
      options: Object.keys(PERIODS).map((value) => ({ value, label: PERIOD[value as keyof typeof PERIOD] })),
    },
    { type: "choice", key: "became", label: "Became", options: OUTCOME_OPTIONS, several: true },
    { type: "dates", key: "since", upTo: "until", label: "Began" },
    { type: "choice", key: "score", label: "Scores and checks", options: scoreOptions(facets), several: true },
    { type: "choice", key: "tag", label: "Tags", options: counted(facets?.tags), several: true },
    { type: "choice", key: "name", label: "Name", options: counted(facets?.names), several: true },
    { type: "choice", key: "app", label: "App", options: counted(facets?.apps), several: true },
    { type: "choice", key: "model", label: "Model", options: counted(facets?.models), several: true },
    { type: "range", key: "took_min", upTo: "took_max", label: "Took (s)", step: 0.1, scale: 1000 },
    { type: "range", key: "tokens_min", upTo: "tokens_max", label: "Tokens", step: 100 },
    { type: "range", key: "cost_min", upTo: "cost_max", label: "Cost", step: 0.01 },
    { type: "choice", key: "incomplete", label: "Incomplete", options: GAP_OPTIONS, several: true },
    { type: "text", key: "exporter", label: "Sent by", hint: "openinference.instrumentation.openai" },
    { type: "text", key: "error", label: "Error says", hint: "rate limit" },
    { type: "text", key: "metadata", label: "Metadata", hint: "release=2026.1", several: true },
    { type: "text", key: "session", label: "Session" },
    { type: "text", key: "user", label: "User" },
  ];
}

const OUTCOME = {
  golden: "Golden",
  candidate: "Candidate",
  failure: "Failure",
  correction: "Correction",
  none: "No case",
};
const OUTCOME_OPTIONS = OUTCOMES.map((value) => ({ value, label: OUTCOME[value] }));
const GAP_OPTIONS = [
  { value: "any", label: "Anything" },
  { value: "none", label: "Nothing: whole" },
  ...Object.entries(GAPS).map(([value, label]) => ({ value, label })),
];

/** Each score of the list, as failing and as good; the server says how many of them fail. */
function scoreOptions(facets: TraceFacets | undefined): Option[] {
  const any = { value: "*<0.3", label: "any score failed" };
  const named = (facets?.scores ?? []).flatMap(({ name, source, count: all, failing }) => {
    const whose = source === "system" ? "" : `${source}:`;
    const by = source === "system" ? "" : ` (${WHOSE[source] ?? source})`;
    return [
      { value: `${whose}${name}<0.3`, label: `${name}${by} failed`, count: failing },
      { value: `${whose}${name}>=0.3`, label: `${name}${by} passed`, count: all - failing },
    ].filter((option) => option.count > 0);
  });
  return [any, ...named];
}
