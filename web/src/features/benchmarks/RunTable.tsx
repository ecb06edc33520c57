/** The list of runs: a table on a desk, some lines a run on a phone. Each heading sorts. */
import { Link } from "@tanstack/react-router";
import { withoutCommands } from "@/api/plainWords";
import { age, count, duration, moment, plural } from "@/ui/format";
import { goesOn, type Mean, type Run } from "./data";
import { costOf, type Means, sorted, timeOf, versionOf } from "./runOrder";
import runsClasses from "./runs.module.css";
import classes from "./tables.module.css";
import type { RunSort } from "./view";
import { basis, decimals, money } from "./words";

type Order = { sort: RunSort; up: boolean };
type RunTableProps = {
  rows: readonly Run[];
  means: Means;
  ticked: readonly string[];
  toggle: (id: string) => void;
  order: Order;
  onOrder: (next: Order) => void;
};

const HEADINGS: { sort: RunSort; title: string; number?: boolean }[] = [
  { sort: "dataset", title: "Dataset" },
  { sort: "model", title: "Model" },
  { sort: "score", title: "Scores" },
  { sort: "status", title: "Status" },
  { sort: "cost", title: "Cost", number: true },
  { sort: "time", title: "Time", number: true },
  { sort: "started", title: "Started", number: true },
];

export function RunTable({ rows, means, ticked, toggle, order, onOrder }: RunTableProps) {
  return (
    <div className={classes.scroll}>
      <table className={`${classes.table} ${runsClasses.runs}`} data-runs>
        <thead>
          <tr>
            <th className={runsClasses.pick}>
              <span className="eg-visually-hidden">Compare</span>
            </th>
            {HEADINGS.map((heading) => (
              <Heading key={heading.sort} {...heading} order={order} onOrder={onOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(rows, means, order.sort, order.up).map((run) => (
            <tr key={run.id}>
              <td className={runsClasses.pick}>
                <input
                  type="checkbox"
                  aria-label={`Compare ${run.spec.model} on ${run.spec.dataset}`}
                  checked={ticked.includes(run.id)}
                  onChange={() => toggle(run.id)}
                />
              </td>
              <td className={runsClasses.dataset}>
                <Link to="/benchmarks/runs/$runId" params={{ runId: run.id }}>
                  {run.spec.dataset}
                </Link>
                <span className={classes.under}>{versionOf(run)}</span>
              </td>
              <td className={runsClasses.model}>{run.spec.model}</td>
              <td className={runsClasses.scores}>
                <Scores run={run} means={means[run.id]} />
              </td>
              <td
                className={runsClasses.status}
                data-status={run.status}
                title={run.error ? withoutCommands(run.error) : undefined}
              >
                {run.status}
                <Progress run={run} />
              </td>
              <td className={classes.number} data-label="Cost">
                {money(costOf(run))}
              </td>
              <td className={classes.number} data-label="Time">
                {duration(timeOf(run))}
              </td>
              <td className={`${classes.number} ${runsClasses.when}`} title={moment(run.created_at)}>
                {age(run.created_at)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type HeadingProps = { sort: RunSort; title: string; number?: boolean; order: Order; onOrder: (next: Order) => void };

/** A heading starts with the largest value (the newest, the best); names start with A. */
function Heading({ sort, title, number, order, onOrder }: HeadingProps) {
  const active = order.sort === sort;
  const first = sort === "dataset" || sort === "model" || sort === "status";
  return (
    <th
      className={number ? classes.number : undefined}
      aria-sort={active ? (order.up ? "ascending" : "descending") : undefined}
    >
      <button
        type="button"
        className={runsClasses.sort}
        onClick={() => onOrder({ sort, up: active ? !order.up : first })}
      >
        {title}
        <span aria-hidden="true">{active ? (order.up ? " ↑" : " ↓") : ""}</span>
      </button>
    </th>
  );
}

/** Each metric's mean with its interval; the metrics alone until they are measured. */
function Scores({ run, means }: { run: Run; means: readonly Mean[] | undefined }) {
  if (!means || goesOn(run)) return <span className={classes.dim}>{run.spec.metrics.join(", ")}</span>;
  return (
    <ul className={classes.flips}>
      {means.map((mean) => (
        <li key={mean.metric}>
          {mean.metric} <strong>{decimals(mean.value)}</strong> <span className={classes.basis}>{basis(mean)}</span>
        </li>
      ))}
    </ul>
  );
}

function Progress({ run }: { run: Run }) {
  const { done = 0, total = 0, failed = 0 } = run;
  return (
    <span className={classes.under}>
      {done === total ? plural(total, "attempt") : `${count(done)} of ${plural(total, "attempt")}`}
      {failed > 0 && <span className={classes.broken}> · {count(failed)} failed</span>}
    </span>
  );
}
