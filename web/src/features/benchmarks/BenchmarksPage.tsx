/** Runs, newest first; start one, tick several to compare, and see who leads. */
import { Button, Tabs } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { age, count } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Command, Empty, ListState } from "@/ui/states";
import classes from "./benchmarks.module.css";
import { type Run, useRuns } from "./data";
import { Leaderboard } from "./Leaderboard";
import { StartRun } from "./StartRun";

export function BenchmarksPage() {
  const runs = useRuns();
  const navigate = useNavigate();
  const [starting, setStarting] = useState(false);
  const [ticked, setTicked] = useState<string[]>([]);
  const rows = runs.data?.runs ?? [];
  const toggle = (id: string) =>
    setTicked((now) => (now.includes(id) ? now.filter((other) => other !== id) : [...now, id]));
  return (
    <Page
      title="Benchmarks"
      lead="Runs one can believe."
      actions={
        <>
          <Button
            variant="default"
            disabled={ticked.length < 2}
            onClick={() => void navigate({ to: "/benchmarks/compare", search: { runs: ticked } })}
          >
            Compare {ticked.length > 1 ? ticked.length : ""}
          </Button>
          <Button onClick={() => setStarting(true)}>New run</Button>
        </>
      }
    >
      <Tabs defaultValue="runs">
        <Tabs.List mb="md">
          <Tabs.Tab value="runs">Runs</Tabs.Tab>
          <Tabs.Tab value="leaderboard">Leaderboard</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="runs">
          <Panel flush>
            <ListState what="runs" query={runs} rows={rows} empty={<NoRuns />}>
              <RunTable rows={rows} ticked={ticked} toggle={toggle} />
            </ListState>
          </Panel>
        </Tabs.Panel>
        <Tabs.Panel value="leaderboard">
          <Leaderboard />
        </Tabs.Panel>
      </Tabs>
      <StartRun opened={starting} close={() => setStarting(false)} />
    </Page>
  );
}

type RunTableProps = { rows: readonly Run[]; ticked: readonly string[]; toggle: (id: string) => void };

function RunTable({ rows, ticked, toggle }: RunTableProps) {
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th aria-label="Compare" />
            <th>Dataset</th>
            <th>Model</th>
            <th>Status</th>
            <th className={classes.number}>Done</th>
            <th className={classes.number}>Errors</th>
            <th>Started</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <tr key={run.id}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Compare ${run.spec.model} on ${run.spec.dataset}`}
                  checked={ticked.includes(run.id)}
                  onChange={() => toggle(run.id)}
                />
              </td>
              <td>
                <Link to="/benchmarks/runs/$runId" params={{ runId: run.id }}>
                  {run.spec.dataset}
                </Link>
              </td>
              <td className={classes.wrap}>{run.spec.model}</td>
              <td>{run.status}</td>
              <td className={classes.number}>
                {count(run.done ?? 0)} / {count(run.total ?? 0)}
              </td>
              <td className={classes.number}>{count(run.failed ?? 0)}</td>
              <td>{age(run.created_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NoRuns() {
  return (
    <Empty title="No runs yet">
      <p>Measure a model on a dataset. This one needs no key:</p>
      <Command>{"evergold run live \\\n  --model recorded \\\n  --metric answer_relevancy"}</Command>
    </Empty>
  );
}
