/** Two or more runs over the same cases: differences with their intervals, and the tasks that flipped. */
import { Button, Select } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { ComparedTrajectories } from "@/features/replay/Trajectories";
import { count, moment } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { useShortcuts } from "@/ui/shortcuts";
import { Empty, Failed, Loading } from "@/ui/states";
import { BesideDrawer } from "./BesideDrawer";
import classes from "./benchmarks.module.css";
import { type Asked, type Run, useComparisons, useResults, useRunsById } from "./data";
import { ShareButton } from "./EndedActions";
import { decimals } from "./figures";
import { type CompareView, compareViewOf } from "./view";

const route = getRouteApi("/benchmarks/compare");

export function ComparePage() {
  const { runs, case: opened = null, only } = route.useSearch();
  const navigate = route.useNavigate();
  const known = useRunsById(runs);
  const [first, ...others] = runs;
  const found = useComparisons(first, others);
  const flips = [...new Set(found.flatMap((each) => (each.data ? flipsOf(each.data.metrics) : [])))];
  // Where nothing flipped, all tasks are gone through: there is still something to read side by side.
  const all = only === "all" || (flips.length === 0 && found.every((each) => !each.isPending));
  const every = useResults(first ?? "", 0, all && others.length > 0);
  const tasks = all ? [...new Set((every.data?.attempts ?? []).map(({ case_id }) => case_id))] : flips;
  const show = (next: Partial<CompareView>) =>
    void navigate({ search: (old) => compareViewOf({ ...old, ...next }), replace: true, resetScroll: false });
  useShortcuts("Compare", [
    { keys: "n", does: "First task side by side", run: () => tasks[0] && show({ case: tasks[0] }) },
  ]);
  if (first === undefined || others.length === 0) return <NothingToCompare />;
  const names = namesOf(runs, known);
  const isReplay = (id: string) => Boolean(known.get(id)?.spec.replay);
  const replays = first !== undefined && isReplay(first) ? others.filter(isReplay) : [];
  return (
    <Page
      title="Compare"
      lead={<Link to="/benchmarks">Benchmarks</Link>}
      actions={
        <>
          <Button variant="default" disabled={tasks.length === 0} onClick={() => show({ case: tasks[0] })}>
            Side by side (n)
          </Button>
          <ShareButton />
          <Select
            label="Baseline"
            w={320}
            maw="100%"
            allowDeselect={false}
            data={runs.map((id) => ({ value: id, label: names.get(id) ?? id }))}
            value={first ?? null}
            onChange={(chosen) =>
              chosen && void navigate({ search: { runs: [chosen, ...runs.filter((id) => id !== chosen)] } })
            }
          />
        </>
      }
    >
      {found.map((each, index) => {
        const other = others[index] ?? "";
        return (
          <Panel
            key={other}
            title={`${names.get(other)} against ${names.get(first ?? "")}`}
            aside={known.get(other) && `begun ${moment(known.get(other)?.created_at)}`}
            flush
          >
            {each.isPending && <Loading what="comparison" rows={3} />}
            {each.isError && <Failed error={each.error} />}
            {each.data && (
              <>
                {each.data.warnings.map((warning) => (
                  <p key={warning} className={classes.warning}>
                    {warning}
                  </p>
                ))}
                {each.data.metrics.length > 0 && (
                  <ComparisonTable
                    metrics={each.data.metrics}
                    asked={each.data.asked}
                    open={(caseId) => show({ case: caseId })}
                  />
                )}
              </>
            )}
          </Panel>
        );
      })}
      {replays.map((id) => (
        <ComparedTrajectories
          key={id}
          first={first}
          second={id}
          names={[names.get(first) ?? first, names.get(id) ?? id]}
        />
      ))}
      <BesideDrawer
        runs={runs}
        names={names}
        caseId={opened}
        tasks={tasks}
        only={all ? "all" : "flips"}
        onOnly={(next) => show({ only: next === "all" ? "all" : undefined })}
        open={(caseId) => show({ case: caseId ?? undefined })}
      />
    </Page>
  );
}

/** What fell comes before what rose: that is what one looks for first. */
function flipsOf(metrics: readonly Schemas["MetricComparison"][]): string[] {
  return [...metrics.flatMap((metric) => metric.lost), ...metrics.flatMap((metric) => metric.gained)];
}

function NothingToCompare() {
  return (
    <Page title="Compare" lead={<Link to="/benchmarks">Benchmarks</Link>}>
      <Panel>
        <Empty
          title="Tick two runs or more to compare them"
          action={
            <Button component={Link} to="/benchmarks" variant="default">
              Choose runs
            </Button>
          }
        />
      </Panel>
    </Page>
  );
}

/** A run is called by its model; by its dataset and the end of its id too where that would not tell two apart. */
function namesOf(ids: readonly string[], known: ReadonlyMap<string, Run | undefined>): Map<string, string> {
  const spellings = [
    (run: Run) => run.spec.model,
    (run: Run) => `${run.spec.model} on ${run.spec.dataset}`,
    (run: Run) => `${run.spec.model} on ${run.spec.dataset} (${run.id.slice(-6)})`,
  ];
  const spelled = spellings.map((spell) => ids.map((id) => (known.get(id) ? spell(known.get(id) as Run) : id)));
  const clear = spelled.find((names) => new Set(names).size === ids.length) ?? ids;
  return new Map(ids.map((id, index) => [id, clear[index] ?? id]));
}

type MetricComparison = Schemas["MetricComparison"];
const SHOWN = 4;

type TableProps = {
  metrics: readonly MetricComparison[];
  asked: Record<string, Asked>;
  open: (caseId: string) => void;
};

/** One run against another, metric by metric. A number never stands without its interval and how many cases it rests on. */
function ComparisonTable({ metrics, asked, open }: TableProps) {
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th>Metric</th>
            <th>Verdict</th>
            <th className={classes.number}>Baseline</th>
            <th className={classes.number}>Run</th>
            <th className={classes.number}>Difference (95 %)</th>
            <th className={classes.number}>p</th>
            <th className={classes.number}>Cases</th>
            <th>Now pass</th>
            <th>Now fail</th>
          </tr>
        </thead>
        <tbody>
          {metrics.map((metric) => (
            <tr key={metric.metric}>
              <td>{metric.metric}</td>
              <td data-verdict={metric.verdict} title={metric.test}>
                {metric.verdict}
                {metric.verdict === "inconclusive" && typeof metric.smallest_visible === "number" && (
                  <span className={classes.under}>
                    too few cases to see less than {decimals(metric.smallest_visible)}
                  </span>
                )}
              </td>
              <td className={classes.number}>{decimals(metric.first)}</td>
              <td className={classes.number}>{decimals(metric.second)}</td>
              <td className={classes.number}>
                <strong>
                  {metric.difference > 0 ? "+" : ""}
                  {decimals(metric.difference)}
                </strong>{" "}
                <span className={classes.dim}>
                  [{decimals(metric.low)}, {decimals(metric.high)}]
                </span>
              </td>
              <td className={classes.number}>{metric.p < 0.001 ? "<0.001" : decimals(metric.p)}</td>
              <td className={classes.number}>
                {count(metric.n)}
                {metric.unpaired > 0 && <span className={classes.under}>{count(metric.unpaired)} not in both</span>}
              </td>
              <td>
                <Flips open={open} asked={asked} cases={metric.gained} />
              </td>
              <td>
                <Flips open={open} asked={asked} cases={metric.lost} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The tasks that changed sides, each a way to its answers side by side; many are folded. */
function Flips({ open, cases, asked }: Pick<TableProps, "open" | "asked"> & { cases: readonly string[] }) {
  const [all, setAll] = useState(false);
  if (cases.length === 0) return <span className={classes.dim}>none</span>;
  const shown = all ? cases : cases.slice(0, SHOWN);
  return (
    <ul className={classes.flips}>
      {shown.map((id) => (
        <li key={id}>
          <button type="button" className={classes.link} title={id} dir="auto" onClick={() => open(id)}>
            {asked[id]?.question ?? id}
          </button>
        </li>
      ))}
      {shown.length < cases.length && (
        <li>
          <button type="button" className={classes.link} onClick={() => setAll(true)}>
            and {count(cases.length - shown.length)} more
          </button>
        </li>
      )}
    </ul>
  );
}
