/** Cost, tokens, latency, errors and checks over time, by model or by name. Every figure leads to its traces. */
import { SegmentedControl, Select } from "@mantine/core";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { Age } from "@/ui/Age";
import { Chart, HUES, type Series } from "@/ui/Chart";
import { count, dollars, duration, plural, share } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import {
  GROUPINGS,
  type Grouping,
  MEASURES,
  type Measure,
  type Overview,
  type Period,
  type Traffic,
  useTraffic,
} from "./data";
import classes from "./overview.module.css";
import {
  everyBucket,
  LABEL,
  labelOf,
  lineOf,
  linkOf,
  ofGroup,
  type Row,
  rowsOf,
  startsOf,
  TIMES,
  timeLabel,
  within,
  worded,
} from "./traffic";

const route = getRouteApi("/");
const BY: Record<Grouping, string> = { model: "Model", name: "Name", time: "Time" };

export function TrafficPanel({ period }: { period: Period }) {
  const { by = "model", measure = "traces" } = route.useSearch();
  const navigate = route.useNavigate();
  const seen = useTraffic(period, by);
  const change = (part: { by?: Grouping; measure?: Measure }) =>
    void navigate({ search: (view) => ({ ...view, ...part }), replace: true, resetScroll: false });
  return (
    <Panel
      title="Traffic"
      aside={
        <div className={classes.choices}>
          <Select
            aria-label="Drawn over time"
            size="xs"
            allowDeselect={false}
            data={MEASURES.map((value) => ({ value, label: LABEL[value] }))}
            value={measure}
            onChange={(value) => change({ measure: value as Measure })}
          />
          <SegmentedControl
            aria-label="Counted by"
            size="xs"
            data={GROUPINGS.map((value) => ({ value, label: BY[value] }))}
            value={by}
            onChange={(value) => change({ by: value as Grouping })}
          />
        </div>
      }
    >
      {seen.isPending ? (
        <Loading what="traffic" rows={4} />
      ) : !seen.data ? (
        <Failed error={seen.error} retry={() => void seen.refetch()} />
      ) : (
        <>
          <TrafficChart seen={seen.data} by={by} measure={measure} />
          <TrafficTable rows={rowsOf(seen.data, by, timeLabel)} by={by} />
          <Age age={seen.data.age} at={seen.dataUpdatedAt} />
        </>
      )}
    </Panel>
  );
}

function TrafficTable({ rows, by }: { rows: Row[]; by: Grouping }) {
  return (
    <section className={classes.scroll} aria-label="Figures of the traffic">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{BY[by]}</th>
            {MEASURES.map((measure) => (
              <th key={measure} scope="col" className={classes.trafficFigure}>
                {LABEL[measure].replace("Latency, ", "")}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key} data-sum={row.key === "all" || undefined}>
              <th scope="row" className="eg-clip" title={row.label}>
                {row.label}
              </th>
              {MEASURES.map((measure) => (
                <td key={measure} className={classes.trafficFigure}>
                  <Figure row={row} measure={measure} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Figure({ row, measure }: { row: Row; measure: Measure }) {
  const words = worded(row.figures, measure);
  const link = linkOf(row, measure);
  if (link === null || ["0", "$0", "–", "unknown"].includes(words)) return <span className="eg-dim">{words}</span>;
  return (
    <Link to="/traces" search={link} aria-label={`${row.label}, ${LABEL[measure]}: ${words}`}>
      {words}
    </Link>
  );
}

type TrafficChartProps = { seen: Traffic; by: Grouping; measure: Measure };

/** One measure of the traffic over time, a series for each model or name. A click leads to the traces. */
function TrafficChart({ seen, by, measure }: TrafficChartProps) {
  const navigate = useNavigate();
  const starts = useMemo(() => startsOf(seen, seen.total.buckets), [seen]);
  const series = useMemo(
    () => (by === "time" ? [{ ...seen.total, value: null as string | null, label: "All" }] : named(seen)),
    [seen, by],
  );
  const drawn = series.map(({ label, buckets }, index) => ({
    name: label,
    values: lineOf(buckets, starts, measure),
    // Where there are more series than hues, those of the second round are paler.
    colour: HUES[index % HUES.length] ?? "gold",
    opacity: 1 / (1 + Math.floor(index / HUES.length)),
  }));
  const open = useCallback(
    (index: number, position: number) => {
      const start = starts[index];
      const group = by === "time" ? {} : ofGroup(seen, series[position]?.value ?? null);
      if (start && group) void navigate({ to: "/traces", search: { ...group, ...within(start, seen.bucket) } });
    },
    [seen, by, starts, series, navigate],
  );
  const words = `${LABEL[measure]} over time: ${worded(seen.total.figures, measure)} in all`;
  return (
    <Chart
      label={words}
      height={220}
      kind={TIMES.includes(measure) ? "lines" : "stacked"}
      names={starts.map(timeLabel)}
      series={drawn}
      format={(value) => formatMeasure(value, measure)}
      onSelect={open}
    />
  );
}

function named(seen: Traffic) {
  return seen.groups.map((group) => ({ ...group, label: labelOf(group.value) }));
}

function formatMeasure(value: number, measure: Measure): string {
  if (measure === "cost") return dollars(value);
  return TIMES.includes(measure) && value > 0 ? duration(value) : count(value);
}

const QUALITY = [
  { name: "Checks passed", short: "Passed", colour: "gold" },
  { name: "Failures", colour: "rust" },
  { name: "Corrected or complained of", short: "Complaints", colour: "sea", dashed: true },
] as const;

/** How good the answers were over time, as shares of what was looked at; each line carries its name. */
export function QualityPanel({ seen, period }: { seen: Overview; period: Period }) {
  const traffic = useTraffic(period, "model").data;
  const buckets = useMemo(() => everyBucket(seen), [seen]);
  const lines = useMemo(() => {
    const scored = new Map(traffic?.total.buckets.map((bucket) => [bucket.start, bucket]));
    const part = (number: number, of: number) => (of > 0 ? number / of : null);
    return [
      buckets.map(({ start }) => {
        const { scored: of = 0, failing = 0 } = scored.get(start) ?? {};
        return part(of - failing, of);
      }),
      buckets.map(({ failure, traces }) => part(failure ?? 0, traces)),
      buckets.map(({ correction, traces }) => part(correction ?? 0, traces)),
    ];
  }, [buckets, traffic]);
  const navigate = useNavigate();
  const open = useCallback(
    (index: number, line: number) => {
      const start = buckets[index]?.start;
      const narrowed = [{ score: ["*<0.3"] }, { became: ["failure" as const] }, { became: ["correction" as const] }][
        line
      ];
      if (start) void navigate({ to: "/traces", search: { ...within(start, seen.bucket), ...narrowed } });
    },
    [buckets, seen.bucket, navigate],
  );
  if (seen.in_period === 0) return null;
  const { failure = 0, correction = 0 } = seen.tiers;
  const words = `Quality over time: ${share(failure, seen.in_period)} failures, ${share(correction, seen.in_period)} corrected`;
  return (
    <Panel title="Quality over time" aside="shares of the traces and checks of each day or hour">
      <Chart
        label={words}
        height={200}
        kind="lines"
        names={buckets.map(({ start }) => timeLabel(start))}
        series={QUALITY.map((line, index) => ({ ...line, values: lines[index] ?? [] }))}
        most={1}
        format={(value) => share(value, 1)}
        missing="nothing to look at"
        onSelect={open}
      />
    </Panel>
  );
}

/** Traces over time, each bar split by what became of them. */
export function IntakePanel({ seen }: { seen: Overview }) {
  const buckets = useMemo(() => everyBucket(seen), [seen]);
  const rest = ({ traces, confirmed = 0, unconfirmed = 0, candidate = 0, failure = 0 }: (typeof buckets)[number]) =>
    Math.max(0, traces - confirmed - unconfirmed - candidate - failure);
  const series: Series[] = [
    { name: "Golden, confirmed", short: "Confirmed", colour: "gold", values: buckets.map((each) => each.confirmed) },
    {
      name: "Golden, unconfirmed",
      short: "Unconfirmed",
      colour: "gold-soft",
      values: buckets.map((each) => each.unconfirmed),
    },
    // As the mark of a candidate is drawn everywhere.
    { name: "Candidate", colour: "surface", dashed: true, values: buckets.map((each) => each.candidate) },
    { name: "Failure", colour: "rust", values: buckets.map((each) => each.failure) },
    { name: "Not in the dataset", short: "Not in it", colour: "line-strong", values: buckets.map(rest) },
  ];
  const navigate = useNavigate();
  const open = useCallback(
    (index: number) => {
      const start = buckets[index]?.start;
      if (start) void navigate({ to: "/traces", search: within(start, seen.bucket) });
    },
    [buckets, seen.bucket, navigate],
  );
  const { confirmed = 0, unconfirmed = 0, candidate = 0, failure = 0 } = seen.tiers;
  const words = `${plural(seen.in_period, "trace")}: ${confirmed + unconfirmed} golden, ${candidate} candidates, ${failure} failures`;
  return (
    <Chart
      label={words}
      height={240}
      kind="stacked"
      names={buckets.map(({ start }) => timeLabel(start))}
      series={series}
      onSelect={open}
    />
  );
}
