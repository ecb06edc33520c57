/** The list of runs: a table on a desk, three lines a run on a phone. */
import { Link } from "@tanstack/react-router";
import { age, count, moment } from "@/ui/format";
import classes from "./benchmarks.module.css";
import type { Run } from "./data";

type RunTableProps = { rows: readonly Run[]; ticked: readonly string[]; toggle: (id: string) => void };

export function RunTable({ rows, ticked, toggle }: RunTableProps) {
  return (
    <div className={classes.scroll}>
      <table className={`${classes.table} ${classes.runs}`}>
        <thead>
          <tr>
            <th className={classes.pick} aria-label="Compare" />
            <th>Dataset</th>
            <th>Model and metrics</th>
            <th>Status</th>
            <th className={classes.number}>Done</th>
            <th className={classes.number}>Errors</th>
            <th className={classes.number}>Started</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <tr key={run.id}>
              <td className={classes.pick}>
                <input
                  type="checkbox"
                  aria-label={`Compare ${run.spec.model} on ${run.spec.dataset}`}
                  checked={ticked.includes(run.id)}
                  onChange={() => toggle(run.id)}
                />
              </td>
              <td className={classes.dataset}>
                <Link to="/benchmarks/runs/$runId" params={{ runId: run.id }}>
                  {run.spec.dataset}
                </Link>
              </td>
              <td className={classes.model}>
                {run.spec.model}
                <span className={classes.under}>{run.spec.metrics.join(", ")}</span>
              </td>
              <td className={classes.status} data-status={run.status} title={run.error ?? undefined}>
                {run.status}
              </td>
              <td className={classes.number}>
                {count(run.done ?? 0)} / {count(run.total ?? 0)}
              </td>
              <Errors failed={run.failed ?? 0} />
              <td className={`${classes.number} ${classes.when}`} title={moment(run.created_at)}>
                {age(run.created_at)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Errors({ failed }: { failed: number }) {
  return (
    <td className={`${classes.number} ${classes.errors}`} data-some={failed > 0 || undefined}>
      {count(failed)}
    </td>
  );
}
