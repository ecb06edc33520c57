/** A metric over the runs of a dataset, a line for each model: whether a change made answers better or worse. */
import { Select } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { Chart, HUES } from "@/ui/Chart";
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
      <Chart label={`${measured} on ${chosen} over time`} height={320} kind="lines" most={1} {...drawn(lines)} />
      <div className={classes.scroll}>
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
      </div>
    </Panel>
  );
}

const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** The runs of all models on one axis of time, a line for each model. */
function drawn(lines: readonly { model: string; points: TrendPoint[] }[]) {
  const places = [...new Set(lines.flatMap(({ points }) => points.map(({ value }) => value[0])))].sort((a, b) => a - b);
  return {
    places,
    names: places.map((place) => short.format(place)),
    series: lines.map(({ model, points }, index) => ({
      name: model,
      colour: HUES[index % HUES.length] ?? "gold",
      values: places.map((place) => points.find(({ value }) => value[0] === place)?.value[1]),
    })),
  };
}
