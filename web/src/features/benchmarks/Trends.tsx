/** A metric over the runs of a dataset, a line for each model: whether a change made answers better or worse. */
import { Select } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { Chart, type Palette } from "@/ui/Chart";
import { Panel } from "@/ui/Page";
import { Empty } from "@/ui/states";
import classes from "./benchmarks.module.css";
import type { Mean, Run } from "./data";
import { Uncalibrated } from "./EndedActions";
import { datasetsOf, linesOf, meanInWords, type TrendPoint } from "./figures";

type TrendsProps = {
  runs: readonly Run[];
  means: Record<string, readonly Mean[]>;
  dataset: string | undefined;
  metric: string | undefined;
  onChoose: (chosen: { dataset: string; metric?: string }) => void;
};

export function Trends({ runs, means, dataset, metric, onChoose }: TrendsProps) {
  const known = useMemo(() => datasetsOf(runs, means), [runs, means]);
  const chosen = dataset && known.has(dataset) ? dataset : ([...known.keys()][0] ?? "");
  const metrics = known.get(chosen) ?? [];
  const measured = metric && metrics.includes(metric) ? metric : (metrics[0] ?? "");
  const lines = useMemo(() => linesOf(runs, means, chosen, measured), [runs, means, chosen, measured]);
  const newest = lines.flatMap(({ points }) => points).sort((a, b) => b.value[0] - a.value[0])[0]?.run.id;
  const navigate = useNavigate();
  const option = useCallback((colours: Palette) => chart(lines, colours), [lines]);
  if (known.size === 0) {
    return (
      <Panel>
        <Empty title="No completed run yet">A metric is drawn here over the runs of a dataset, a line per model.</Empty>
      </Panel>
    );
  }
  return (
    <Panel title={`${measured} on ${chosen}`}>
      <div className={classes.choices}>
        <Select
          label="Dataset"
          allowDeselect={false}
          data={[...known.keys()]}
          value={chosen}
          onChange={(next) => next && onChoose({ dataset: next })}
        />
        <Select
          label="Metric"
          allowDeselect={false}
          data={metrics}
          value={measured}
          onChange={(next) => next && onChoose({ dataset: chosen, metric: next })}
        />
      </div>
      {newest && <Uncalibrated runId={newest} />}
      <Chart label={`${measured} on ${chosen} over time`} height={320} option={option} />
      <table className={classes.table}>
        <thead>
          <tr>
            <th>Run</th>
            <th>Model</th>
            <th>{measured}</th>
          </tr>
        </thead>
        <tbody>
          {lines.flatMap(({ model, points }) =>
            points.map((point) => (
              <tr key={point.run.id}>
                <td>
                  <button
                    type="button"
                    className={classes.link}
                    onClick={() => void navigate({ to: "/benchmarks/runs/$runId", params: { runId: point.run.id } })}
                  >
                    {new Date(point.value[0]).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}
                  </button>
                </td>
                <td>{model}</td>
                <td>{meanInWords(point.mean)}</td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </Panel>
  );
}

function chart(lines: readonly { model: string; points: TrendPoint[] }[], colours: Palette) {
  const hues = [colours.gold, colours.sea, colours.rust, colours.ink, colours.mute];
  const axis = {
    axisLabel: { color: colours.dim, hideOverlap: true },
    splitLine: { lineStyle: { color: colours.line } },
  };
  return {
    grid: { left: 4, right: 16, top: 40, bottom: 4, containLabel: true },
    legend: { top: 0, textStyle: { color: colours.ink }, type: "plain" },
    xAxis: { type: "time", ...axis },
    yAxis: { type: "value", min: 0, max: 1, ...axis },
    series: lines.map(({ model, points }, index) => ({
      name: model,
      type: "line",
      symbolSize: 8,
      lineStyle: { color: hues[index % hues.length] },
      itemStyle: { color: hues[index % hues.length] },
      data: points.map(({ value }) => value),
    })),
  };
}
