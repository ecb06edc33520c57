/** Models ranked on one version of a dataset at a time, and what each answer's quality costs. */
import { Link } from "@tanstack/react-router";
import { count } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Empty, ListState } from "@/ui/states";
import { CostAgainstQuality } from "./CostAgainstQuality";
import { type Board, type Mean, useBoards } from "./data";
import leaderboardClasses from "./leaderboard.module.css";
import classes from "./tables.module.css";
import { Uncalibrated } from "./Uncalibrated";
import { basis, contentInWords, decimals, money } from "./words";

export function Leaderboard() {
  const boards = useBoards();
  const rows = boards.data ?? [];
  return (
    <ListState what="leaderboard" query={boards} rows={rows} empty={<Nobody />}>
      <div className={leaderboardClasses.boards}>
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
                  <div className={leaderboardClasses.ranked}>
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
                    <MeanCell mean={entry.means.find((each) => each.metric === metric)} />
                  </td>
                ))}
                {someFailed && <td className={classes.number}>{count(entry.failed)}</td>}
                {judges.size > 1 && <td className={leaderboardClasses.judge}>{entry.judge ?? "none"}</td>}
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

function MeanCell({ mean }: { mean: Mean | undefined }) {
  if (!mean) return <>–</>;
  return (
    <>
      <strong>{decimals(mean.value)}</strong> <span className={classes.basis}>{basis(mean)}</span>
    </>
  );
}
