/** Cost, tokens, latency, errors and checks over time, by model or by name. Every figure leads to its traces. */
import { SegmentedControl, Select } from "@mantine/core";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { Age } from "@/ui/Age";
import { Chart, frame, namedBars, namesRoom, type Palette } from "@/ui/Chart";
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
  labelRaises,
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
  const option = useCallback(
    (colours: Palette) => {
      const hues = [colours.gold, colours.sea, colours.rust, colours.soft, colours.mute, colours.ink, colours.faint];
      const isTime = TIMES.includes(measure);
      const { tooltip, xAxis, yAxis } = frame(colours, [
        ...starts.map((start) => timeLabel(start)),
        ...(series.length > 1 && !isTime ? [""] : []),
      ]);
      return {
        grid: { left: 8, right: series.length > 1 ? namesRoom() : 8, top: 8, bottom: 4, containLabel: true },
        tooltip: {
          ...tooltip,
          valueFormatter: (value: number | null) => (value === null ? "–" : formatMeasure(value, measure)),
        },
        xAxis,
        yAxis: {
          ...yAxis,
          axisLabel: { ...yAxis.axisLabel, formatter: (value: number) => formatMeasure(value, measure) },
        },
        series: series.map(({ label, buckets }, index) => {
          const data = lineOf(buckets, starts, measure);
          // Where there are more series than hues, those of the second round are paler.
          const style = { color: hues[index % hues.length], opacity: 1 / (1 + Math.floor(index / hues.length)) };
          const line = {
            name: label,
            data,
            type: "line",
            animation: false, // a label on its way has no place
            connectNulls: false,
            symbolSize: 6,
            lineStyle: style,
            endLabel: {
              show: data.some((value) => value !== null),
              formatter: label,
              color: colours.dim,
              width: namesRoom() - 12,
              overflow: "truncate",
            },
            labelLayout: { moveOverlap: "shiftY" },
          };
          const shape = isTime
            ? line
            : { ...namedBars(colours.dim, { colour: style.color ?? "" }, label, data, index), stack: "all" };
          return series.length > 1
            ? { ...shape, itemStyle: style }
            : { ...shape, name: label, data, endLabel: undefined, itemStyle: style };
        }),
      };
    },
    [series, starts, measure],
  );
  const open = useCallback(
    (index: number, position: number) => {
      const start = starts[index];
      const group = by === "time" ? {} : ofGroup(seen, series[position]?.value ?? null);
      if (start && group) void navigate({ to: "/traces", search: { ...group, ...within(start, seen.bucket) } });
    },
    [seen, by, starts, series, navigate],
  );
  const words = `${LABEL[measure]} over time: ${worded(seen.total.figures, measure)} in all`;
  return <Chart label={words} height={220} option={option} onSelect={open} />;
}

function named(seen: Traffic) {
  return seen.groups.map((group) => ({ ...group, label: labelOf(group.value) }));
}

function formatMeasure(value: number, measure: Measure): string {
  if (measure === "cost") return dollars(value);
  return TIMES.includes(measure) ? duration(value) : count(value);
}

const QUALITY = [
  { name: "Checks passed", short: "Passed", colour: "gold", dash: "solid" },
  { name: "Failures", short: "Failures", colour: "rust", dash: "solid" },
  { name: "Corrected or complained of", short: "Complaints", colour: "sea", dash: "dashed" },
] as const;

/** The height of the part that the lines are drawn in, and of a label. */
const QUALITY_PX = 165;
const LABEL_PX = 15;
const NARROW_PX = 720;

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
  const option = useCallback(
    (colours: Palette) => {
      const { tooltip, xAxis, yAxis } = frame(
        colours,
        buckets.map(({ start }) => timeLabel(start)),
      );
      const formatter = (value: number) => share(value, 1);
      const narrow = window.innerWidth < NARROW_PX;
      const raised = labelRaises(
        lines.map((line) => line.findLast((value) => value !== null) ?? null),
        LABEL_PX / QUALITY_PX,
      );
      return {
        grid: { left: 8, right: narrow ? 82 : 170, top: 10, bottom: 4, containLabel: true },
        tooltip: {
          ...tooltip,
          valueFormatter: (value: number | null) => (value === null ? "nothing to look at" : formatter(value)),
        },
        xAxis,
        yAxis: { ...yAxis, min: 0, max: 1, axisLabel: { ...yAxis.axisLabel, formatter } },
        series: QUALITY.map(({ name, short, colour, dash }, index) => ({
          name,
          data: lines[index],
          type: "line",
          // A label at the end of a line without points, or on its way from none to some, has no place.
          animation: false,
          connectNulls: true,
          symbolSize: 5,
          itemStyle: { color: colours[colour] },
          lineStyle: { color: colours[colour], type: dash },
          endLabel: {
            show: lines[index]?.some((value) => value !== null),
            formatter: narrow ? short : name,
            color: colours.dim,
            fontSize: 12,
            offset: [0, -(raised[index] ?? 0) * QUALITY_PX],
          },
        })),
      };
    },
    [buckets, lines],
  );
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
      <Chart label={words} height={200} option={option} onSelect={open} />
    </Panel>
  );
}

const SERIES = [
  { name: "Golden, confirmed", colour: "gold" },
  { name: "Golden, unconfirmed", colour: "soft" },
  { name: "Candidate", colour: "surface" },
  { name: "Failure", colour: "rust" },
  { name: "Not in the dataset", colour: "faint" },
] as const;

/** Traces over time, each bar split by what became of them. */
export function IntakePanel({ seen }: { seen: Overview }) {
  const buckets = useMemo(() => everyBucket(seen), [seen]);
  const option = useCallback(
    (colours: Palette) => {
      const { tooltip, xAxis, yAxis } = frame(colours, [...buckets.map(({ start }) => timeLabel(start)), ""]);
      const rest = buckets.map((each) =>
        Math.max(
          0,
          each.traces - (each.confirmed ?? 0) - (each.unconfirmed ?? 0) - (each.candidate ?? 0) - (each.failure ?? 0),
        ),
      );
      const columns = [
        buckets.map((each) => each.confirmed),
        buckets.map((each) => each.unconfirmed),
        // A bar of no height would still have its border.
        buckets.map((each) => each.candidate || null),
        buckets.map((each) => each.failure),
        rest,
      ];
      return {
        grid: { left: 8, right: namesRoom(), top: 8, bottom: 4, containLabel: true },
        tooltip,
        xAxis,
        yAxis: { ...yAxis, minInterval: 1 },
        series: SERIES.map(({ name, colour }, index) => ({
          ...namedBars(
            colours.dim,
            colour === "surface" ? { colour: colours.gold, sign: "□" } : { colour: colours[colour] },
            name,
            columns[index] ?? [],
            index,
          ),
          stack: "what it became",
          // As the mark of a candidate is drawn everywhere.
          itemStyle: {
            color: colours[colour],
            ...(colour === "surface" && { borderColor: colours.gold, borderType: "dashed", borderWidth: 1 }),
          },
        })),
      };
    },
    [buckets],
  );
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
  return <Chart label={words} height={240} option={option} onSelect={open} />;
}
