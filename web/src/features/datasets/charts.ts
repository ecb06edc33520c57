/** The one kind of chart of these pages: bars, stacked or side by side; lying ones leave room for long names. */
import type { EChartsCoreOption } from "echarts/core";
import type { Palette } from "@/ui/Chart";

export type Series = { name: string; colour: string; data: number[] };

type Shape = { stack?: string; lying?: boolean };

export function bars(colours: Palette, names: string[], series: Series[], shape: Shape = {}): EChartsCoreOption {
  const words = { color: colours.dim };
  const categories = {
    type: "category",
    data: names,
    inverse: shape.lying,
    axisTick: { show: false },
    axisLine: { lineStyle: { color: colours.line } },
    axisLabel: shape.lying ? { ...words, width: 130, overflow: "truncate" } : { ...words, hideOverlap: true },
  };
  const values = { type: "value", axisLabel: words, splitLine: { lineStyle: { color: colours.line } } };
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
    xAxis: shape.lying ? values : categories,
    yAxis: shape.lying ? categories : values,
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
