/** Models ranked on one version of a dataset at a time, and what each answer's quality costs. */
import { Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { Chart, type Palette } from "@/ui/Chart";
import { Panel } from "@/ui/Page";
import { Empty, ListState } from "@/ui/states";
import classes from "./benchmarks.module.css";
import { type Board, useBoards } from "./data";
import { meanInWords, money } from "./words";

export function Leaderboard() {
  const boards = useBoards();
  const rows = boards.data ?? [];
  return (
    <ListState what="leaderboard" query={boards} rows={rows} empty={<Empty title="No completed run yet" />}>
      {rows.map((board) => (
        <Panel
          key={board.content_hash}
          title={`${board.dataset} ${board.version}`}
          aside={board.content_hash.slice(0, 19)}
          flush
        >
          <Ranking board={board} />
          {board.entries.filter((entry) => entry.usage.cost !== null).length > 1 && (
            <CostAgainstQuality board={board} />
          )}
        </Panel>
      ))}
    </ListState>
  );
}

function Ranking({ board }: { board: Board }) {
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th>Model</th>
            {board.metrics.map((metric) => (
              <th key={metric}>{metric}</th>
            ))}
            <th>Judge</th>
            <th className={classes.number}>Cost</th>
          </tr>
        </thead>
        <tbody>
          {board.entries.map((entry) => (
            <tr key={entry.run_id}>
              <td className={classes.wrap}>
                <Link to="/benchmarks/runs/$runId" params={{ runId: entry.run_id }}>
                  {entry.model}
                </Link>
              </td>
              {board.metrics.map((metric) => {
                const mean = entry.means.find((each) => each.metric === metric);
                return <td key={metric}>{mean ? meanInWords(mean) : "–"}</td>;
              })}
              <td>{entry.self_judged ? `${entry.judge} (itself)` : (entry.judge ?? "none")}</td>
              <td className={classes.number}>{money(entry.usage.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CostAgainstQuality({ board }: { board: Board }) {
  const [metric] = board.metrics;
  const option = useCallback(
    (colours: Palette) => ({
      grid: { left: 8, right: 24, top: 16, bottom: 28, containLabel: true },
      xAxis: {
        type: "value",
        name: "cost in dollars",
        nameLocation: "middle",
        nameGap: 28,
        axisLabel: { color: colours.dim },
      },
      yAxis: { type: "value", name: metric, min: 0, max: 1, axisLabel: { color: colours.dim } },
      tooltip: { formatter: (point: { name: string }) => point.name },
      series: [
        {
          type: "scatter",
          symbolSize: 13,
          itemStyle: { color: colours.gold },
          data: board.entries.map((entry) => ({
            name: entry.model,
            value: [entry.usage.cost ?? 0, entry.means.find((each) => each.metric === metric)?.value ?? 0],
          })),
        },
      ],
    }),
    [board, metric],
  );
  return <Chart label={`Cost against ${metric} on ${board.dataset}`} height={220} option={option} />;
}
