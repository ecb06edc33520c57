/** Runs, newest first; start one, tick several to compare, and see who leads. */
import { Button, Tabs } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { useMay } from "@/api/access";
import { withoutCommands } from "@/api/client";
import { SearchBox } from "@/ui/filterbar/FilterBar";
import { age, count, duration, moment, plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, ListState } from "@/ui/states";
import classes from "./benchmarks.module.css";
import { goesOn, type Mean, type Run, useAgainst, useMeans, useRuns } from "./data";
import { basis, decimals, money } from "./figures";
import { Leaderboard } from "./Leaderboard";
import { StartRun } from "./StartRun";
import { Trends } from "./Trends";
import {
  type BenchmarksView,
  benchmarksViewOf,
  contentOf,
  costOf,
  isNamed,
  type Means,
  matches,
  type RunSort,
  sorted,
  timeOf,
  versionOf,
} from "./view";

const route = getRouteApi("/benchmarks");

export function BenchmarksPage() {
  const runs = useRuns();
  const view = route.useSearch();
  const { tab = "runs", q = "", sort = "started", up = false } = view;
  const navigate = route.useNavigate();
  const mayStart = useMay("editor");
  const [starting, setStarting] = useState(false);
  const [ticked, setTicked] = useState<string[]>([]);
  const rows = runs.data?.runs ?? [];
  const means = useMeans(rows);
  const shown = rows.filter((run) => matches(run, q));
  const show = (next: BenchmarksView) => void navigate({ search: benchmarksViewOf(next), replace: true });
  const toggle = (id: string) =>
    setTicked((now) => (now.includes(id) ? now.filter((other) => other !== id) : [...now, id]));
  return (
    <Page
      title="Benchmarks"
      lead="A model measured on a dataset, against the oldest run of the same version. Tick two runs or more to compare them."
      actions={
        <>
          <Button
            variant="default"
            disabled={ticked.length < 2}
            onClick={() => void navigate({ to: "/benchmarks/compare", search: { runs: oldestFirst(ticked, rows) } })}
          >
            Compare {ticked.length > 1 ? ticked.length : ""}
          </Button>
          {mayStart && <Button onClick={() => setStarting(true)}>New run</Button>}
        </>
      }
    >
      <Tabs value={tab} onChange={(value) => void navigate({ search: benchmarksViewOf({ tab: value }) })}>
        <Tabs.List mb="md">
          <Tabs.Tab value="runs">Runs</Tabs.Tab>
          <Tabs.Tab value="leaderboard">Leaderboard</Tabs.Tab>
          <Tabs.Tab value="trends">Trends</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="runs">
          {rows.length > 0 && (
            <div className={classes.search}>
              <SearchBox
                label="Search runs"
                hint="Dataset, model, metric"
                value={q}
                onChange={(value) => show({ ...view, q: value })}
              />
            </div>
          )}
          <Panel flush>
            <ListState
              what="runs"
              query={runs}
              rows={rows}
              empty={<NoRuns start={mayStart ? () => setStarting(true) : null} />}
            >
              {shown.length === 0 ? (
                <p className={classes.foot}>No run has “{q}” in its dataset, model, metrics or status.</p>
              ) : (
                <RunTable
                  rows={shown}
                  means={means.data ?? {}}
                  ticked={ticked}
                  toggle={toggle}
                  order={{ sort, up }}
                  onOrder={(order) => show({ ...view, ...order })}
                />
              )}
            </ListState>
          </Panel>
        </Tabs.Panel>
        <Tabs.Panel value="leaderboard">{tab === "leaderboard" && <Leaderboard />}</Tabs.Panel>
        <Tabs.Panel value="trends">
          {tab === "trends" && (
            <Trends
              runs={rows}
              means={means.data ?? {}}
              dataset={view.dataset}
              metric={view.metric}
              onChoose={(chosen) => show({ tab, ...chosen })}
            />
          )}
        </Tabs.Panel>
      </Tabs>
      <StartRun opened={starting} close={() => setStarting(false)} />
    </Page>
  );
}

/** Of runs to compare the oldest is the baseline; `rows` are newest first. */
const oldestFirst = (ids: readonly string[], rows: readonly Run[]) =>
  rows.flatMap(({ id }) => (ids.includes(id) ? id : [])).reverse();

function NoRuns({ start }: { start: (() => void) | null }) {
  return (
    <Empty title="No runs yet" action={start && <Button onClick={start}>Start a run</Button>}>
      <p>
        Measure a model on a dataset. The model “recorded” scores answers that are stored already, and needs no key.
      </p>
    </Empty>
  );
}

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
  { sort: "model", title: "Run" },
  { sort: "score", title: "Scores" },
  { sort: "status", title: "Status" },
  { sort: "cost", title: "Cost", number: true },
  { sort: "time", title: "Time", number: true },
  { sort: "started", title: "Started", number: true },
];

/** The list of runs: a table on a desk, some lines a run on a phone. Each heading sorts. */
function RunTable({ rows, means, ticked, toggle, order, onOrder }: RunTableProps) {
  const inOrder = sorted(rows, means, order.sort, order.up);
  const grouped = order.sort === "started" && !order.up;
  const listed = grouped ? byDataset(inOrder) : inOrder.map((run) => ({ run, baseline: null, begins: false }));
  return (
    <div className={classes.scroll}>
      <table className={`${classes.table} ${classes.runs}`} data-runs>
        <thead>
          <tr>
            <th className={classes.pick}>
              <span className="eg-visually-hidden">Compare</span>
            </th>
            {HEADINGS.map((heading) => (
              <Heading key={heading.sort} {...heading} order={order} onOrder={onOrder} />
            )).toSpliced(3, 0, <th key="against">Against the baseline</th>)}
          </tr>
        </thead>
        <tbody>
          {listed.map(({ run, baseline, begins }) => (
            <Fragment key={run.id}>
              {begins && (
                <tr className={classes.group}>
                  <th colSpan={HEADINGS.length + 2} scope="rowgroup">
                    {run.spec.dataset}{" "}
                    <span className={classes.basis} title={contentOf(run)}>
                      {nameOf(run)}
                    </span>
                  </th>
                </tr>
              )}
              <tr>
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
                    {run.spec.model}
                  </Link>
                  {!grouped && <span className={classes.under}>on {run.spec.dataset}</span>}
                </td>
                <td className={classes.scores}>
                  <Scores run={run} means={means[run.id]} />
                </td>
                <td
                  className={classes.status}
                  data-status={run.status}
                  title={run.error ? withoutCommands(run.error) : undefined}
                >
                  {run.status}
                  <Progress run={run} />
                </td>
                <td className={classes.status}>
                  {baseline === run.id && <span className={classes.basis}>the baseline</span>}
                  {baseline && baseline !== run.id && <Against baseline={baseline} run={run} />}
                </td>
                <td className={classes.number} data-label="Cost">
                  {money(costOf(run))}
                </td>
                <td className={classes.number} data-label="Time">
                  {duration(timeOf(run))}
                </td>
                <td className={`${classes.number} ${classes.when}`} title={moment(run.created_at)}>
                  {age(run.created_at)}
                </td>
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A version by its name; where it has none, by the time of this run of it. Its hash is there on demand. */
const nameOf = (run: Run) =>
  isNamed(run) ? `version ${versionOf(run)}` : `not frozen, as of ${moment(run.created_at)}`;

type Listed = { run: Run; baseline: string | null; begins: boolean };

/** Runs of one version of a dataset together, in the order given; the oldest that is complete is their baseline. */
function byDataset(runs: readonly Run[]): Listed[] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) {
    const name = `${run.spec.dataset} ${versionOf(run)}`;
    groups.set(name, [...(groups.get(name) ?? []), run]);
  }
  return [...groups.values()].flatMap((group) => {
    const complete = group.filter((run) => run.status === "completed");
    const baseline = complete.length > 1 ? (complete.at(-1)?.id ?? null) : null;
    return group.map((run, index) => ({
      run,
      baseline: run.status === "completed" ? baseline : null,
      begins: index === 0,
    }));
  });
}

const VERDICT: Record<string, string> = {
  better: "Better",
  worse: "Worse",
  same: "Same",
  inconclusive: "Not decided",
};

/** What a run is against the baseline of its group, by each metric that both have. */
function Against({ baseline, run }: { baseline: string; run: Run }) {
  const { data, isError } = useAgainst(baseline, run.id);
  if (isError) return <span className={classes.basis}>not comparable</span>;
  const metrics = data?.metrics ?? [];
  const worst = ["worse", "inconclusive", "same", "better"].find((word) =>
    metrics.some((metric) => metric.verdict === word),
  );
  if (worst === undefined) return null;
  const decisive = metrics.find((metric) => metric.verdict === worst);
  const difference = decisive?.difference ?? 0;
  return (
    <Link
      to="/benchmarks/compare"
      search={{ runs: [baseline, run.id] }}
      className={classes.verdict}
      data-verdict={worst}
      title={metrics.map((metric) => `${metric.metric}: ${VERDICT[metric.verdict]}`).join("\n")}
    >
      {VERDICT[worst]}
      <span className={classes.under}>
        {decisive?.metric} {difference > 0 ? "+" : ""}
        {difference.toFixed(3)}
      </span>
    </Link>
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
      <button type="button" className={classes.sort} onClick={() => onOrder({ sort, up: active ? !order.up : first })}>
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
