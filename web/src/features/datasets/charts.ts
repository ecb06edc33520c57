/** The one kind of chart of these pages: bars, stacked or side by side. */
import type { EChartsCoreOption } from "echarts/core";
import type { Palette } from "@/ui/Chart";

export type Series = { name: string; colour: string; data: number[] };

export function bars(colours: Palette, names: string[], series: Series[], stack?: string): EChartsCoreOption {
  const words = { color: colours.dim };
  return {
    grid: { left: 4, right: 4, top: 34, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
    legend: { top: 0, left: 0, icon: "roundRect", itemWidth: 10, itemHeight: 10, textStyle: words },
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
      axisLabel: { ...words, hideOverlap: true },
    },
    yAxis: { type: "value", axisLabel: words, splitLine: { lineStyle: { color: colours.line } } },
    series: series.map(({ name, colour, data }) => ({
      name,
      data,
      type: "bar",
      stack,
      itemStyle: { color: colour },
      barMaxWidth: 44,
    })),
  };
}
