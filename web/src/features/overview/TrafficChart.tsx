/** One measure of the traffic over time, a series for each model or name. A click leads to the traces. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { Chart, type Palette } from "@/ui/Chart";
import { count, dollars, duration } from "@/ui/format";
import { startsOf, timeLabel } from "./buckets";
import type { Traffic } from "./data";
import { LABEL, labelOf, lineOf, ofGroup, TIMES, within, worded } from "./traffic";
import type { Grouping, Measure } from "./view";

type TrafficChartProps = { seen: Traffic; by: Grouping; measure: Measure };

export function TrafficChart({ seen, by, measure }: TrafficChartProps) {
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
      return {
        grid: { left: 8, right: 8, top: series.length > 1 ? 34 : 8, bottom: 4, containLabel: true },
        legend: { show: series.length > 1, top: 0, left: 0, type: "scroll", textStyle: { color: colours.dim } },
        tooltip: {
          trigger: "axis",
          axisPointer: { type: "shadow", shadowStyle: { color: colours.mute, opacity: 0.12 } },
          backgroundColor: colours.surface,
          borderColor: colours.line,
          textStyle: { color: colours.ink, fontSize: 12.5 },
          valueFormatter: (value: number | null) => (value === null ? "–" : said(value, measure)),
        },
        xAxis: {
          type: "category",
          data: starts.map((start) => timeLabel(start)),
          axisTick: { show: false },
          axisLine: { lineStyle: { color: colours.line } },
          axisLabel: { color: colours.dim, hideOverlap: true },
        },
        yAxis: {
          type: "value",
          axisLabel: { color: colours.dim, formatter: (value: number) => said(value, measure) },
          splitLine: { lineStyle: { color: colours.line } },
        },
        series: series.map(({ label, buckets }, index) => ({
          name: label,
          data: lineOf(buckets, starts, measure),
          type: isTime ? "line" : "bar",
          stack: isTime ? undefined : "all",
          connectNulls: false,
          symbolSize: 6,
          // Where there are more series than hues, those of the second round are paler.
          itemStyle: { color: hues[index % hues.length], opacity: 1 / (1 + Math.floor(index / hues.length)) },
          lineStyle: { color: hues[index % hues.length], opacity: 1 / (1 + Math.floor(index / hues.length)) },
          barCategoryGap: "28%",
          barMaxWidth: 34,
        })),
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

function said(value: number, measure: Measure): string {
  if (measure === "cost") return dollars(value);
  return TIMES.includes(measure) ? duration(value) : count(value);
}
