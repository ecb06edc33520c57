/** Two versions side by side: how far they drifted apart, and which cases differ. */
import { Select } from "@mantine/core";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { DiffView } from "./DiffView";
import { Drift } from "./Drift";
import { type Build, useComparison, useDiff } from "./data";
import classes from "./datasets.module.css";

type CompareProps = {
  dataset: string;
  builds: Build[];
  before: string;
  after: string;
  stored: boolean;
  change: (part: { before?: string; version?: string }) => void;
};

export function Compare({ dataset, builds, before, after, stored, change }: CompareProps) {
  const names = builds.map((build) => build.version);
  const diff = useDiff(dataset, before, after);
  return (
    <>
      <div className={classes.controls}>
        <Select
          label="Before"
          data={names}
          value={before}
          allowDeselect={false}
          onChange={(value) => value && change({ before: value })}
        />
        <Select
          label="After"
          data={names}
          value={after}
          allowDeselect={false}
          onChange={(value) => value && change({ version: value, before })}
        />
      </div>
      <Panel title="Cases that differ">
        {diff.isPending ? (
          <Loading what="difference" />
        ) : !diff.data ? (
          <Failed error={diff.error} retry={() => void diff.refetch()} />
        ) : (
          <DiffView dataset={dataset} diff={diff.data} stored={stored} />
        )}
      </Panel>
      {diff.data && <Apart dataset={dataset} before={before} after={after} />}
    </>
  );
}

type Two = { dataset: string; before: string; after: string };

function Apart({ dataset, before, after }: Two) {
  const apart = useComparison(dataset, before, after);
  if (apart.isPending) return <Loading what="comparison" />;
  if (!apart.data) return <Failed error={apart.error} retry={() => void apart.refetch()} />;
  return <Drift before={apart.data.before} after={apart.data.after} drift={apart.data.drift} />;
}
