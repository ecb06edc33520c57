/** Traces over time, each bar split by what became of them. */
import { useNavigate } from "@tanstack/react-router";
import { type CSSProperties, useCallback, useMemo } from "react";
import { Chart, type Palette } from "@/ui/Chart";
import { plural } from "@/ui/format";
import { everyBucket, timeLabel } from "./buckets";
import type { Overview } from "./data";
import classes from "./overview.module.css";
import { within } from "./traffic";

const SERIES = [
  { name: "Golden, confirmed", colour: "gold", swatch: "gold" },
  { name: "Golden candidate", colour: "soft", swatch: "gold-soft" },
  { name: "Failure", colour: "rust", swatch: "rust" },
  { name: "Not in the dataset", colour: "faint", swatch: "line-strong" },
] as const;

export function IntakePanel({ seen }: { seen: Overview }) {
  const buckets = useMemo(() => everyBucket(seen), [seen]);
  const option = useCallback(
    (colours: Palette) => {
      const names = buckets.map(({ start }) => timeLabel(start));
      const rest = buckets.map((each) =>
        Math.max(0, each.traces - (each.confirmed ?? 0) - (each.candidate ?? 0) - (each.failure ?? 0)),
      );
      const columns = [
        buckets.map((each) => each.confirmed),
        buckets.map((each) => each.candidate),
        buckets.map((each) => each.failure),
        rest,
      ];
      return {
        grid: { left: 8, right: 8, top: 8, bottom: 4, containLabel: true },
        tooltip: {
          trigger: "axis",
          axisPointer: { type: "shadow", shadowStyle: { color: colours.mute, opacity: 0.12 } },
          backgroundColor: colours.surface,
          borderColor: colours.line,
          textStyle: { color: colours.ink, fontSize: 12.5 },
        },
        xAxis: {
          type: "category",
          data: names,
          axisTick: { show: false },
          axisLine: { lineStyle: { color: colours.line } },
          axisLabel: { color: colours.dim, hideOverlap: true },
        },
        yAxis: {
          type: "value",
          minInterval: 1,
          axisLabel: { color: colours.dim },
          splitLine: { lineStyle: { color: colours.line } },
        },
        series: SERIES.map(({ name, colour }, index) => ({
          name,
          data: columns[index],
          type: "bar",
          stack: "what it became",
          itemStyle: { color: colours[colour] },
          barCategoryGap: "28%",
          barMaxWidth: 34,
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
  const { confirmed = 0, candidate = 0, failure = 0 } = seen.tiers;
  const words = `${plural(seen.in_period, "trace")}: ${confirmed} golden, ${candidate} candidates, ${failure} failures`;
  return (
    <>
      <ul className={classes.legend} aria-hidden="true">
        {SERIES.map(({ name, swatch }) => (
          <li key={name} style={{ "--swatch": `var(--eg-${swatch})` } as CSSProperties}>
            {name}
          </li>
        ))}
      </ul>
      <Chart label={words} height={240} option={option} onSelect={open} />
    </>
  );
}
