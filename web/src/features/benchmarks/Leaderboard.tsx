/** Models ranked on one version of a dataset at a time, and what each answer's quality costs. */
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Scatter } from "@/ui/Chart";
import { count } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Empty, ListState } from "@/ui/states";
import classes from "./benchmarks.module.css";
import { type Board, type Mean, useBoards } from "./data";
import { Uncalibrated } from "./EndedActions";
import { basis, contentInWords, decimals, money, pointsOf } from "./figures";

export function Leaderboard() {
  const boards = useBoards();
  const rows = boards.data ?? [];
  return (
    <ListState what="leaderboard" query={boards} rows={rows} empty={<Nobody />}>
      <div className={classes.boards}>
        {rows.map((board) => (
          <Panel
            key={`${board.dataset} ${board.content_hash}`}
            title={board.dataset}
            aside={contentInWords(board)}
            flush
          >
            {board.entries[0] && <Uncalibrated runId={board.entries[0].run_id} />}
            <Ranking board={board} />
            <CostAgainstQuality board={board} />
          </Panel>
        ))}
      </div>
    </ListState>
  );
}

function Nobody() {
  return (
    <Panel>
      <Empty title="No completed run yet">
        Each dataset version gets a table of its own here: the newest completed run of every model, best first.
      </Empty>
    </Panel>
  );
}

function Ranking({ board }: { board: Board }) {
  const judges = new Set(board.entries.map((entry) => entry.judge ?? ""));
  const [judge] = judges.size === 1 ? [...judges] : [""];
  const someFailed = board.entries.some((entry) => entry.failed > 0);
  return (
    <>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th>Model</th>
              {board.metrics.map((metric) => (
                <th key={metric}>{metric}</th>
              ))}
              {someFailed && <th className={classes.number}>Errors</th>}
              {judges.size > 1 && <th>Judge</th>}
              <th className={classes.number}>Cost</th>
            </tr>
          </thead>
          <tbody>
            {board.entries.map((entry, index) => (
              <tr key={entry.run_id}>
                <td>
                  <div className={classes.ranked}>
                    <span className={classes.dim}>{typeof entry.means[0]?.value === "number" ? index + 1 : "–"}</span>
                    <span>
                      <Link to="/benchmarks/runs/$runId" params={{ runId: entry.run_id }}>
                        {entry.model}
                      </Link>
                      {entry.self_judged && <span className={classes.under}>judged by itself</span>}
                    </span>
                  </div>
                </td>
                {board.metrics.map((metric) => (
                  <td key={metric}>
                    <MeanCell mean={entry.means.find((each) => each.metric === metric)} most={mostOf(board)} />
                  </td>
                ))}
                {someFailed && <td className={classes.number}>{count(entry.failed)}</td>}
                {judges.size > 1 && <td className={classes.judge}>{entry.judge ?? "none"}</td>}
                <td className={classes.number}>{money(entry.usage.cost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className={classes.foot}>
        Ranked by {board.metrics[0]}. {board.weighted && "Each question counts once, however many cases ask it. "}
        {judge && `Judged by ${judge}.`}
      </p>
    </>
  );
}

/** The end of the axis on which a board's intervals are drawn. */
const mostOf = (board: Board) =>
  Math.max(1, ...board.entries.flatMap(({ means }) => means.map((mean) => mean.high ?? mean.value ?? 0)));

function MeanCell({ mean, most }: { mean: Mean | undefined; most: number }) {
  if (!mean) return <>–</>;
  const { value, low, high } = mean;
  const at = (number: number) => `${Math.max(0, Math.min(100, (100 * number) / most))}%`;
  return (
    <>
      <strong>{decimals(value)}</strong> <span className={classes.basis}>{basis(mean)}</span>
      {typeof value === "number" && (
        <span className={classes.interval} aria-hidden="true">
          {typeof low === "number" && typeof high === "number" && (
            <span style={{ left: at(low), width: `calc(${at(high)} - ${at(low)})` }} />
          )}
          <i style={{ left: at(value) }} />
        </span>
      )}
    </>
  );
}

/** What quality costs: each model of a board at its price and its mean. */
function CostAgainstQuality({ board }: { board: Board }) {
  const metric = board.metrics[0] ?? "";
  const points = useMemo(() => pointsOf(board), [board]);
  if (points.length < 2) return null;
  return (
    <div className={classes.chart}>
      <h3>{metric} against the cost of a run</h3>
      <Scatter
        label={`Cost against ${metric} on ${board.dataset}`}
        height={240}
        points={points.map(({ name, value: [x, y] }) => ({ name, x, y }))}
        most={1}
        format={(value) => `$${value}`}
        describe={({ name, x, y }) => `${name}: ${metric} ${decimals(y)}, ${money(x)}`}
      />
    </div>
  );
}
