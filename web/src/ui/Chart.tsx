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
