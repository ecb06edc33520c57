/** Every dataset: how much is in it, how much of that is validated, and its newest version. */
import { Link } from "@tanstack/react-router";
import { Beginning } from "@/ui/Beginning";
import { count, plural, share } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, ListState } from "@/ui/states";
import { type Dataset, useDatasets } from "./data";
import classes from "./datasets.module.css";

export function DatasetsPage() {
  const query = useDatasets();
  const found = query.data ?? [];
  return (
    <Page title="Datasets" lead="What there is to evaluate with, and its frozen versions.">
      <Panel flush>
        <ListState what="datasets" query={query} rows={found} empty={<NoDataset />}>
          <ul className={classes.datasets} aria-label="Datasets">
            {found.map((dataset) => (
              <Row key={dataset.dataset} dataset={dataset} />
            ))}
          </ul>
        </ListState>
      </Panel>
    </Page>
  );
}

function Row({ dataset }: { dataset: Dataset }) {
  const all = Object.values(dataset.review).reduce((sum, part) => sum + part, 0);
  const candidates = dataset.entry_type.candidate ?? 0;
  const newest = dataset.builds.at(-1);
  return (
    <li>
      <Link to="/datasets/$dataset" params={{ dataset: dataset.dataset }} className={classes.dataset}>
        <span className={classes.name}>{dataset.dataset}</span>
        {all > 0 ? (
          <>
            <span className={classes.figure}>
              <b>{count(dataset.cases)}</b> active
              {candidates > 0 && ` · ${plural(candidates, "candidate")}`}
            </span>
            <span className={classes.figure}>
              <b>{share(dataset.review.validated ?? 0, all)}</b> validated
            </span>
            <span className={classes.figure}>{Object.keys(dataset.kind).join(", ")}</span>
          </>
        ) : (
          <span className={classes.inFiles}>
            <b>{count(newest?.cases ?? 0)}</b> in the files of {newest?.version}, none in the store
          </span>
        )}
        <span className={classes.figure}>
          {newest ? `${newest.version}, ${plural(dataset.builds.length, "version")}` : "never frozen"}
        </span>
      </Link>
    </li>
  );
}

function NoDataset() {
  return (
    <Empty title="No dataset yet">
      <p>A dataset begins with its first case: from traces, or from a file.</p>
      <Beginning of="cases" sample />
    </Empty>
  );
}
