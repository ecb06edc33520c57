/** A chart. ECharts is loaded when the first one is shown, and only the parts the app draws with. */
import { Skeleton, useComputedColorScheme } from "@mantine/core";
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { useEffect, useRef, useState } from "react";

export type Palette = Record<
  "ink" | "dim" | "line" | "faint" | "surface" | "gold" | "soft" | "rust" | "sea" | "mute",
  string
>;

type ChartProps = {
  /** What it shows, in words, for those who cannot see it. */
  label: string;
  height: number;
  option: (colours: Palette) => EChartsCoreOption;
  /** Called with the index of what was clicked, and of its series. */
  onSelect?: (index: number, series: number) => void;
};

export function Chart({ label, height, option, onSelect }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const [chart, setChart] = useState<EChartsType | null>(null);
  const scheme = useComputedColorScheme("light");

  useEffect(() => {
    let live: EChartsType | undefined;
    let gone = false;
    const element = holder.current;
    const watcher = new ResizeObserver(() => live?.resize());
    void import("./echarts").then(({ init }) => {
      if (gone || !element) return;
      live = init(element, null, { renderer: "svg" });
      watcher.observe(element);
      setChart(live);
    });
    return () => {
      gone = true;
      watcher.disconnect();
      live?.dispose();
      setChart(null);
    };
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the palette is read from the page, which changes with the scheme
  useEffect(() => {
    const { fontFamily } = getComputedStyle(document.body);
    chart?.setOption({ animation: false, textStyle: { fontFamily }, ...option(palette()) }, true);
  }, [chart, option, scheme]);

  useEffect(() => {
    if (!chart || !onSelect) return;
    const handle = (event: { dataIndex: number; seriesIndex: number }) => onSelect(event.dataIndex, event.seriesIndex);
    chart.on("click", handle as never);
    return () => void chart.off("click", handle as never);
  }, [chart, onSelect]);

  return (
    <div style={{ position: "relative", height }}>
      {!chart && <Skeleton height={height} radius="sm" style={{ position: "absolute" }} />}
      <div ref={holder} role="img" aria-label={label} style={{ height }} />
    </div>
  );
}

function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--eg-${name}`).trim();
  return {
    ink: read("ink"),
    dim: read("ink-3"),
    line: read("line"),
    faint: read("line-strong"),
    surface: read("surface"),
    gold: read("gold"),
    soft: read("gold-soft"),
    rust: read("rust"),
    sea: read("sea"),
    mute: read("mute"),
  };
}

/** What charts over categories have alike: a tooltip for each category, and two quiet axes. */
export function frame(colours: Palette, names: string[]) {
  return {
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
      axisLabel: { color: colours.dim },
      splitLine: { lineStyle: { color: colours.line } },
    },
  };
}

/** The room beside a chart in which the names of its series stand. */
export const namesRoom = () => (window.innerWidth < 720 ? 116 : 150);

const NAME_PX = 18;

/**
 * Bars of a stack, with the names of its parts beside it in their order, so that nobody looks a colour up. The names stand on
 * an empty category, which the axis has at its end. `row`: how many named parts lie below.
 */
export function namedBars(
  dim: string,
  mark: { colour: string; sign?: string },
  name: string,
  values: readonly (number | null | undefined)[],
  row: number,
) {
  const label = {
    show: true,
    position: "right",
    offset: [-16, -NAME_PX * (row + 0.6)],
    formatter: `{mark|${mark.sign ?? "■"}} ${name}`,
    rich: { mark: { color: mark.colour } },
    color: dim,
    fontSize: 12,
    width: namesRoom() - 4,
    overflow: "truncate",
  };
  return {
    name,
    type: "bar",
    data: [...values, { value: 0, label, itemStyle: { borderWidth: 0 } }],
    barCategoryGap: "28%",
    barMaxWidth: 34,
  };
}

type Series = { name: string; colour: string; data: number[] };
type Shape = { stack?: string; lying?: boolean };

/** Bars, stacked or side by side; lying ones leave room for long names. */
export function bars(colours: Palette, names: string[], series: Series[], shape: Shape = {}): EChartsCoreOption {
  const { tooltip, xAxis, yAxis } = frame(colours, names);
  const lying = { ...xAxis, inverse: true, axisLabel: { color: colours.dim, width: 130, overflow: "truncate" } };
  return {
    grid: { left: 4, right: 4, top: 34, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
    legend: { top: 0, left: 0, icon: "roundRect", itemWidth: 10, itemHeight: 10, textStyle: { color: colours.dim } },
    tooltip,
    xAxis: shape.lying ? yAxis : xAxis,
    yAxis: shape.lying ? lying : yAxis,
    series: series.map(({ name, colour, data }) => ({
      name,
      data,
      type: "bar",
      stack: shape.stack,
      itemStyle: { color: colour },
      barMaxWidth: shape.lying ? 9 : 44,
    })),
  };
}
