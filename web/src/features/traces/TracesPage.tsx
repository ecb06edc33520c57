/** Every trace, newest first. Pages are asked for as they are scrolled to, so a million traces cost what one page costs. */
import { getRouteApi, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { changed } from "@/ui/address";
import { Beginning, Snippets } from "@/ui/Beginning";
import { GAPS } from "@/ui/cases";
import { FilterBar } from "@/ui/filterbar/FilterBar";
import type { Field, Option } from "@/ui/filterbar/fields";
import { ColumnPicker, OrderPicker, Views } from "@/ui/filterbar/Views";
import { count } from "@/ui/format";
import { Split } from "@/ui/Page";
import { RecordList } from "@/ui/RecordList";
import { Empty, ListState } from "@/ui/states";
import { CHOOSABLE, columnsOf, shownColumns } from "./columns";
import { type Trace, type TraceFacets, useTraceFacets, useTraces } from "./data";
import { WHOSE } from "./Scores";
import { BulkActions } from "./TraceActions";
import { isNarrowed, ORDERS, PERIODS, STATUSES, type TraceView } from "./view";

const route = getRouteApi("/traces");
const keyOf = (trace: Trace) => trace.id;

export function TracesPage() {
  const view = route.useSearch();
  const navigate = useNavigate();
  const { traceId } = useParams({ strict: false });
  const traces = useTraces(view);
  const rows = useMemo(() => traces.data?.pages.flatMap((page) => page.traces) ?? [], [traces.data]);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => columnsOf(view), [view]);
  const show = (next: TraceView) => void navigate({ to: ".", search: next, replace: true });

  return (
    <Split
      title="Traces"
      lead="What the app really did"
      filters={<TraceFilters view={view} onChange={show} />}
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
            end={`That is all: ${count(rows.length)}`}
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
const HINT = "Words of the name and of the first 300 characters of question and answer, or the beginning of an id";

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
    { type: "dates", key: "since", upTo: "until", label: "Began" },
    { type: "choice", key: "score", label: "Scores and checks", options: scoreOptions(facets), several: true },
    { type: "choice", key: "tag", label: "Tags", options: counted(facets?.tags), several: true },
    { type: "choice", key: "name", label: "Name", options: counted(facets?.names), several: true },
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
