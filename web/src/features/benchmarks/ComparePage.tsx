/** Which run to ship: a sentence for each candidate, what it rests on, and the cases that changed. */
import { Button, Select } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { withoutCommands } from "@/api/client";
import { ComparedTrajectories } from "@/features/replay/Trajectories";
import { moment } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import { ChangedCases } from "./ChangedCases";
import classes from "./compare.module.css";
import { type Comparison, type Run, useComparisons, useRunsById } from "./data";
import { ShareButton } from "./EndedActions";
import { Forest } from "./Forest";
import { type CompareView, compareViewOf } from "./view";

const route = getRouteApi("/benchmarks/compare");

export function ComparePage() {
  const view = route.useSearch();
  const navigate = route.useNavigate();
  const { runs } = view;
  const known = useRunsById(runs);
  const [first, ...others] = runs;
  const found = useComparisons(first, others);
  if (first === undefined || others.length === 0) return <NothingToCompare />;
  const show = (next: Partial<CompareView>) =>
    void navigate({ search: (old) => compareViewOf({ ...old, ...next }), replace: true, resetScroll: false });
  const names = namesOf(runs, known);
  const isReplay = (id: string) => Boolean(known.get(id)?.spec.replay);
  const replays = isReplay(first) ? others.filter(isReplay) : [];
  const compared = found.flatMap(({ data }) => data ?? []);
  const candidates = compared.map((each) => each.second);
  const candidate = compared.find((each) => each.second === view.against) ?? compared[0];
  const baseline = names.get(first) ?? first;
  return (
    <Page
      title={
        others.length === 1
          ? `${names.get(others[0] ?? "")} against ${baseline}`
          : `${others.length} runs against ${baseline}`
      }
      lead={<Link to="/benchmarks">Benchmarks</Link>}
      actions={
        <>
          <ShareButton />
          <Select
            label="Baseline"
            w={260}
            maw="100%"
            allowDeselect={false}
            data={runs.map((id) => ({ value: id, label: names.get(id) ?? id }))}
            value={first}
            onChange={(chosen) => chosen && show({ runs: [chosen, ...runs.filter((id) => id !== chosen)] })}
          />
        </>
      }
    >
      {found.map((each, index) => {
        const other = others[index] ?? "";
        return (
          <div key={other}>
            {each.isPending && <Loading what="comparison" rows={3} />}
            {each.isError && <Failed error={each.error} />}
            {each.data && (
              <Decision
                compared={each.data}
                name={names.get(other) ?? other}
                several={others.length > 1}
                begun={known.get(other)?.created_at}
              />
            )}
          </div>
        );
      })}
      {compared.length > 0 && (
        <Panel
          title="What it rests on"
          aside="95 % intervals; right of the line is better; no difference that matters in the shaded band"
          flush
        >
          <Forest compared={compared} names={names} />
        </Panel>
      )}
      {candidate && (
        <ChangedCases
          key={candidate.second}
          compared={candidate}
          candidates={candidates}
          runs={runs}
          names={names}
          view={view}
          show={show}
        />
      )}
      {replays.map((id) => (
        <ComparedTrajectories key={id} first={first} second={id} names={[baseline, names.get(id) ?? id]} />
      ))}
    </Page>
  );
}

const DECISIONS = {
  ship: ["better", "Better"],
  keep: ["worse", "Worse"],
  either: ["same", "Same"],
  weigh: ["inconclusive", "Better and worse"],
  undecided: ["inconclusive", "Not decided"],
} as const;

type DecisionProps = { compared: Comparison; name: string; several: boolean; begun: string | null | undefined };

/** The sentence of the comparison: what to do in large letters, the other facts below. */
function Decision({ compared, name, several, begun }: DecisionProps) {
  const [tone, word] = DECISIONS[compared.decision ?? "undecided"];
  const [what = "", ...facts] = (compared.sentence ?? "").replace(/\.$/, "").split("; ");
  return (
    <section className={classes.decision} data-verdict={tone} aria-label={`Decision on ${name}`}>
      <span className={classes.verdict}>{word}</span>
      {several && <span className={classes.about}>{name}</span>}
      <p className={classes.sentence}>
        {what}
        {facts.length > 0 ? "; " : "."}
        {facts.length > 0 && <span className={classes.facts}>{facts.join("; ")}.</span>}
      </p>
      {compared.warnings.map((warning) => (
        <p key={warning} className={classes.warning}>
          {withoutCommands(warning)}
        </p>
      ))}
      {begun && <p className={classes.begun}>Run of {moment(begun)}</p>}
    </section>
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

/** A run is called by its model; with its dataset or the end of its id where that would not tell two apart. */
function namesOf(ids: readonly string[], known: ReadonlyMap<string, Run | undefined>): Map<string, string> {
  const spellings = [
    (run: Run) => run.spec.model,
    (run: Run) => `${run.spec.model} on ${run.spec.dataset}`,
    (run: Run) => `${run.spec.model} (${run.id.slice(-6)})`,
  ];
  const spelled = spellings.map((spell) => ids.map((id) => (known.get(id) ? spell(known.get(id) as Run) : id)));
  const clear = spelled.find((names) => new Set(names).size === ids.length) ?? ids;
  return new Map(ids.map((id, index) => [id, clear[index] ?? id]));
}
