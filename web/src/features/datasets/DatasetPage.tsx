/** One dataset: its versions, two of them compared, or a sample of one to read. */
import { Button, SegmentedControl } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { repeatsLine, useRepeatCounts } from "@/features/cases/data";
import { plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import { Compare } from "./Compare";
import { type Build, type Look, useBuilds, useDatasets } from "./data";
import { Freeze } from "./Freeze";
import { SpotCheck } from "./SpotCheck";
import { Versions } from "./Versions";

const route = getRouteApi("/datasets/$dataset");
const LABELS = [
  { value: "versions", label: "Versions" },
  { value: "compare", label: "Compare" },
  { value: "sample", label: "Spot check" },
];

export function DatasetPage() {
  const { dataset } = route.useParams();
  const { look = "versions" } = route.useSearch();
  const navigate = route.useNavigate();
  const builds = useBuilds(dataset);
  const datasets = useDatasets();
  const mayFreeze = useMay("editor");
  const [freezing, setFreezing] = useState(false);
  const found = builds.data ?? [];
  const entry = datasets.data?.find((one) => one.dataset === dataset);
  const stored = Object.keys(entry?.status ?? {}).length > 0;
  const repeats = useRepeatCounts(dataset, stored).data;
  const repeated = repeats && repeatsLine(repeats.counts);
  const show = (version: string) => {
    setFreezing(false);
    void navigate({ search: { version } });
  };
  return (
    <Page
      title={dataset}
      lead={
        <>
          <Link to="/datasets">All datasets</Link> · {plural(found.length, "version")}
          {stored && (
            <>
              {" · "}
              <Link to="/cases" search={{ dataset }}>
                its cases as they are now
              </Link>
              {repeated && ` · ${repeated}`}
            </>
          )}
        </>
      }
      actions={
        <>
          {found.length > 0 && (
            <SegmentedControl
              aria-label="What to look at"
              data={LABELS}
              value={look}
              onChange={(value) => void navigate({ search: (old) => ({ ...old, look: value as Look }), replace: true })}
            />
          )}
          {mayFreeze && (entry?.cases ?? 0) > 0 && <Button onClick={() => setFreezing(true)}>Freeze</Button>}
        </>
      }
    >
      {builds.isPending ? (
        <Loading what="versions" />
      ) : !builds.data ? (
        <Failed error={builds.error} retry={() => void builds.refetch()} />
      ) : found.length === 0 ? (
        <NeverFrozen dataset={dataset} />
      ) : (
        <Chosen dataset={dataset} builds={found} look={look} stored={stored} />
      )}
      <Freeze dataset={dataset} opened={freezing} close={() => setFreezing(false)} done={show} />
    </Page>
  );
}

type ChosenProps = { dataset: string; builds: Build[]; look: Look; stored: boolean };

function Chosen({ dataset, builds, look, stored }: ChosenProps) {
  const view = route.useSearch();
  const navigate = route.useNavigate();
  const known = (version: string | undefined) => builds.find((build) => build.version === version);
  const build = known(view.version) ?? builds.at(-1);
  if (!build) return null;
  const earlier = known(view.before) ?? known(build.parent ?? undefined) ?? builds.at(-2);
  const change = (part: Partial<typeof view>) =>
    void navigate({ search: (old) => ({ ...old, ...part }), replace: true, resetScroll: false });
  if (look === "sample") {
    return (
      <SpotCheck
        dataset={dataset}
        builds={builds}
        version={build.version}
        seed={view.seed ?? 0}
        split={view.split}
        opened={view.case}
        change={change}
      />
    );
  }
  if (look === "versions") {
    return <Versions builds={builds} chosen={build} choose={(version) => change({ version })} />;
  }
  if (!earlier || builds.length < 2) return <OnlyOne choose={() => change({ look: "versions" })} />;
  return (
    <Compare
      dataset={dataset}
      builds={builds}
      before={earlier.version}
      after={build.version}
      stored={stored}
      change={change}
    />
  );
}

function OnlyOne({ choose }: { choose: () => void }) {
  return (
    <Panel>
      <Empty
        title="One version cannot be compared"
        action={
          <Button variant="default" onClick={choose}>
            Look at it
          </Button>
        }
      >
        Freeze the dataset again when it has changed.
      </Empty>
    </Panel>
  );
}

function NeverFrozen({ dataset }: { dataset: string }) {
  const datasets = useDatasets();
  if (datasets.isPending) return <Loading what="dataset" />;
  if (datasets.data && !datasets.data.some((one) => one.dataset === dataset)) {
    return (
      <Panel>
        <Empty title="No such dataset" action={<Link to="/datasets">All datasets</Link>}>
          Nothing is called {dataset} here.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel>
      <Empty title="Never frozen">
        <p>A version holds the cases as they are now, for ever. Make the first one with Freeze.</p>
      </Empty>
    </Panel>
  );
}
