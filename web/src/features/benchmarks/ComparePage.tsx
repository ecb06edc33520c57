/** Two or more runs over the same cases: differences with their intervals, and the tasks that flipped. */
import { Button, Select } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ComparedTrajectories } from "@/features/replay/ComparedTrajectories";
import { moment } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import classes from "./benchmarks.module.css";
import { ComparisonTable } from "./ComparisonTable";
import { type Run, useComparisons, useRunsById } from "./data";

const route = getRouteApi("/benchmarks/compare");

export function ComparePage() {
  const { runs } = route.useSearch();
  const navigate = route.useNavigate();
  const known = useRunsById(runs);
  const [first, ...others] = runs;
  const found = useComparisons(first, others);
  if (first === undefined || others.length === 0) return <NothingToCompare />;
  const names = namesOf(runs, known);
  const isReplay = (id: string) => Boolean(known.get(id)?.spec.replay);
  const replays = first !== undefined && isReplay(first) ? others.filter(isReplay) : [];
  return (
    <Page
      title="Compare"
      lead={<Link to="/benchmarks">Benchmarks</Link>}
      actions={
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
                  <ComparisonTable runId={other} metrics={each.data.metrics} asked={each.data.asked} />
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
    </Page>
  );
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
