/** What quality costs: each model of a board at its price and its mean. */
import { useMediaQuery } from "@mantine/hooks";
import { useCallback, useMemo } from "react";
import { Chart, type Palette } from "@/ui/Chart";
import type { Board } from "./data";
import classes from "./leaderboard.module.css";
import { type Point, pointsOf } from "./points";
import { decimals, money } from "./words";

const NAME_LENGTH = 22;

export function CostAgainstQuality({ board }: { board: Board }) {
  const metric = board.metrics[0] ?? "";
  const points = useMemo(() => pointsOf(board), [board]);
  const wide = useMediaQuery("(min-width: 721px)") ?? true;
  const option = useCallback((colours: Palette) => chart(points, metric, colours, wide), [points, metric, wide]);
  if (points.length < 2) return null;
  return (
    <div className={classes.chart}>
      <h3>{metric} against the cost of a run</h3>
      <Chart label={`Cost against ${metric} on ${board.dataset}`} height={240} option={option} />
    </div>
  );
}

function chart(points: readonly Point[], metric: string, colours: Palette, named: boolean) {
  const middle = Math.max(...points.map(({ value }) => value[0])) / 2;
  const axis = {
    type: "value",
    axisLabel: { color: colours.dim },
    axisLine: { lineStyle: { color: colours.line } },
    splitLine: { lineStyle: { color: colours.line } },
  };
  return {
    grid: { left: 4, right: 24, top: 16, bottom: 4, containLabel: true },
    xAxis: { ...axis, axisLabel: { color: colours.dim, formatter: (value: number) => `$${value}`, hideOverlap: true } },
    yAxis: { ...axis, min: 0, max: 1 },
    tooltip: {
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      textStyle: { color: colours.ink, fontSize: 12.5 },
      formatter: ({ name, value }: Point) => `${escaped(name)}<br>${metric} ${decimals(value[1])}, ${money(value[0])}`,
    },
    series: [
      {
        type: "scatter",
        symbolSize: 12,
        itemStyle: { color: colours.gold },
        label: {
          show: named,
          color: colours.ink,
          formatter: ({ name }: Point) => (name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH)}…` : name),
        },
        labelLayout: { hideOverlap: true, moveOverlap: "shiftY" },
        data: points.map((point) => ({ ...point, label: { position: point.value[0] > middle ? "left" : "right" } })),
      },
    ],
  };
}

/** A tooltip is HTML, a model's name is not. */
const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
