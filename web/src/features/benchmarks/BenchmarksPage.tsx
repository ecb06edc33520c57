/** Runs, newest first; start one, tick several to compare, and see who leads. */
import { Button, Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { Page, Panel } from "@/ui/Page";
import { SearchBox } from "@/ui/SearchBox";
import { Empty, ListState } from "@/ui/states";
import { useMeans, useRuns } from "./data";
import { Leaderboard } from "./Leaderboard";
import { RunTable } from "./RunTable";
import { matches } from "./runOrder";
import classes from "./runs.module.css";
import { StartRun } from "./StartRun";
import { Trends } from "./Trends";
import tablesClasses from "./tables.module.css";
import { type BenchmarksView, benchmarksViewOf } from "./view";

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
      lead="A model measured on a dataset. Tick two runs or more to compare them."
      actions={
        <>
          <Button
            variant="default"
            disabled={ticked.length < 2}
            onClick={() => void navigate({ to: "/benchmarks/compare", search: { runs: ticked } })}
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
                <p className={tablesClasses.foot}>No run has “{q}” in its dataset, model, metrics or status.</p>
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

function NoRuns({ start }: { start: (() => void) | null }) {
  return (
    <Empty title="No runs yet" action={start && <Button onClick={start}>Start a run</Button>}>
      <p>
        Measure a model on a dataset. The model “recorded” scores answers that are stored already, and needs no key.
      </p>
    </Empty>
  );
}
