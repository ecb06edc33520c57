/** Runs, newest first; start one, tick several to compare, and see who leads. */
import { Button, Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { Page, Panel } from "@/ui/Page";
import { Command, Empty, ListState } from "@/ui/states";
import { useRuns } from "./data";
import { Leaderboard } from "./Leaderboard";
import { RunTable } from "./RunTable";
import { StartRun } from "./StartRun";
import { benchmarksViewOf } from "./view";

const route = getRouteApi("/benchmarks");

export function BenchmarksPage() {
  const runs = useRuns();
  const { tab = "runs" } = route.useSearch();
  const navigate = route.useNavigate();
  const mayStart = useMay("editor");
  const [starting, setStarting] = useState(false);
  const [ticked, setTicked] = useState<string[]>([]);
  const rows = runs.data?.runs ?? [];
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
        </Tabs.List>
        <Tabs.Panel value="runs">
          <Panel flush>
            <ListState what="runs" query={runs} rows={rows} empty={<NoRuns />}>
              <RunTable rows={rows} ticked={ticked} toggle={toggle} />
            </ListState>
          </Panel>
        </Tabs.Panel>
        <Tabs.Panel value="leaderboard">{tab === "leaderboard" && <Leaderboard />}</Tabs.Panel>
      </Tabs>
      <StartRun opened={starting} close={() => setStarting(false)} />
    </Page>
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
