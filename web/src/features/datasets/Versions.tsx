/** Versions over time, and what one of them holds, leaves out and leaks. */
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { Chart, HUES } from "@/ui/Chart";
import { count, moment, plural } from "@/ui/format";
import { Facts, Panel } from "@/ui/Page";
import { Download, Failed, Loading } from "@/ui/states";
import { type Build, brief, casesIn, type Manifest, useFiles } from "./data";
import classes from "./datasets.module.css";

type VersionsProps = { builds: Build[]; chosen: Build; choose: (version: string) => void };

export function Versions({ builds, chosen, choose }: VersionsProps) {
  return (
    <div className={classes.grid}>
      <div className={classes.wide}>
        <Panel title="Cases by split, version by version" aside="Choose a version to see what it holds">
          <Growth builds={builds} choose={choose} />
          <nav className={classes.versions} aria-label="Versions">
            {builds.map((build) => (
              <button
                key={build.version}
                ref={build.version === chosen.version ? intoView : undefined}
                type="button"
                className={classes.version}
                aria-pressed={build.version === chosen.version}
                onClick={() => choose(build.version)}
              >
                <b>{build.version}</b> {plural(casesIn(build), "case")}
              </button>
            ))}
          </nav>
        </Panel>
      </div>
      <Panel title={`Version ${chosen.version}`}>
        <Holds build={chosen} />
      </Panel>
      <Panel title="Splits and files">
        <Files build={chosen} />
      </Panel>
      <Panel title="Left out, and why">
        <LeftOut manifest={chosen.manifest} />
      </Panel>
      <Panel title="Leaks">
        <Leaks dataset={chosen.dataset} manifest={chosen.manifest} />
      </Panel>
    </div>
  );
}

/** Of many versions the chosen one must not hide behind the edge; the page itself stays where it is. */
function intoView(button: HTMLButtonElement | null) {
  const strip = button?.parentElement;
  if (button && strip)
    strip.scrollLeft = button.offsetLeft - strip.offsetLeft - (strip.clientWidth - button.clientWidth) / 2;
}

function Growth({ builds, choose }: { builds: Build[]; choose: (version: string) => void }) {
  const splits = [...new Set(builds.flatMap((build) => Object.keys(build.manifest.splits ?? {})))];
  const onSelect = useCallback(
    (index: number) => {
      const build = builds[index];
      if (build) choose(build.version);
    },
    [builds, choose],
  );
  const words = builds.map((build) => `${build.version} ${plural(casesIn(build), "case")}`).join(", ");
  return (
    <Chart
      label={words}
      height={220}
      kind="stacked"
      names={builds.map((build) => build.version)}
      series={splits.map((name, index) => ({
        name,
        colour: HUES[index % HUES.length] ?? "gold",
        values: builds.map((build) => build.manifest.splits?.[name]?.count ?? 0),
      }))}
      onSelect={onSelect}
    />
  );
}

function Holds({ build }: { build: Build }) {
  const { manifest } = build;
  const policies = manifest.policies
    ?.map((one) => `${one.policy}, revision ${brief(one.rev)}: ${plural(one.cases, "case")}`)
    .join("; ");
  return (
    <Facts
      facts={[
        ["Frozen", moment(build.created_at)],
        ["Cases", count(casesIn(build))],
        ["Made from", manifest.source && madeFrom(manifest.source)],
        ["Filter", filterInWords(manifest.filters)],
        ["Content hash", <code key="hash">{build.content_hash}</code>],
        ["Parent", build.parent ?? "none, the first"],
        ["Seed", manifest.seed?.toString()],
        ["Grouped by", manifest.group_by],
        ["Policies", policies],
        ["Canary", manifest.canary],
        ["Built with", manifest.builder],
      ]}
    />
  );
}

function madeFrom({ path, records }: NonNullable<Build["manifest"]["source"]>): string {
  return typeof records === "number" ? `${path}, ${plural(records, "record")}` : path;
}

/** `entry_type=golden, tag=text`, as one would type it; empty where every case was asked for. */
function filterInWords(filters: Record<string, unknown> = {}): string {
  return Object.entries(filters)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

function LeftOut({ manifest }: { manifest: Build["manifest"] }) {
  const untaken = Object.entries(manifest.excluded_task_types ?? {});
  const reasons = [
    ...Object.entries({ ...manifest.excluded, ...manifest.rejected }),
    ...untaken.map(([type, records]) => [`no split takes ${type}`, records] as const),
  ];
  if (reasons.length === 0) {
    const which = filterInWords(manifest.filters) ? "that passes the filter" : "of the dataset";
    return <p className={classes.calm}>Every case {which} is in this version.</p>;
  }
  return (
    <Facts
      facts={reasons
        .sort(([, one], [, other]) => other - one)
        .map(([reason, cases]) => [reason, plural(cases, "case")])}
    />
  );
}

/** The files of a version: split sizes, hashes, and the download of each. */
function Files({ build }: { build: Build }) {
  const files = useFiles(build.dataset, build.version);
  if (files.isPending) return <Loading what="files" rows={3} />;
  if (!files.data) return <Failed error={files.error} retry={() => void files.refetch()} />;
  if (files.data.length === 0) {
    return <p className={classes.calm}>The files of this version are not where they were written any more.</p>;
  }
  const splits = Object.entries(build.manifest.splits ?? {});
  return (
    <ul className={classes.files} aria-label="Files">
      {files.data.map((name) => {
        const [split, entry] = splits.find(([, one]) => one.path.split("/").at(-1) === name) ?? [];
        return (
          <li key={name}>
            <FileLink build={build} name={name} />
            {entry && (
              <span className="eg-dim">
                {split}: {plural(entry.count, "case")}
                {typeof entry.groups === "number" && `, ${plural(entry.groups, "group")}`}
                {entry.bytes !== undefined && `, ${count(Math.ceil(entry.bytes / 1024))} KB`}
              </span>
            )}
            {entry?.sha256 && <code className={classes.hash}>sha256 {entry.sha256}</code>}
          </li>
        );
      })}
    </ul>
  );
}

function FileLink({ build, name }: { build: Build; name: string }) {
  const parts = [build.dataset, build.version, "files", name].map((part) => encodeURIComponent(part));
  return (
    <Download href={`/api/v1/builds/${parts.join("/")}`} name={`${build.dataset}-${build.version}-${name}`}>
      {(link) => (
        <a download {...link}>
          {name}
        </a>
      )}
    </Download>
  );
}

const SHOWN = 8;

/** What stands in two splits, or in a file meant for training. */
function Leaks({ dataset, manifest }: { dataset: string; manifest: Manifest }) {
  const near = manifest.near_duplicates;
  const [all, setAll] = useState(false);
  if (!near) return <p className={classes.calm}>Not looked for in this version.</p>;
  const overlap = Object.entries(manifest.overlap ?? {}).filter(([, found]) => found.count > 0);
  if (near.count === 0 && overlap.length === 0) {
    return <p className={classes.calm}>No near-duplicate stands in two splits.</p>;
  }
  const pairs = all ? near.pairs : near.pairs.slice(0, SHOWN);
  return (
    <>
      <ul className={classes.plain}>
        {near.count > 0 && <li>{plural(near.count, "case")} nearly the same as one in another split</li>}
        {pairs.map((pair) => (
          <li key={`${pair.a} ${pair.b}`} className={classes.pair}>
            <CaseLink dataset={dataset} caseId={pair.a} /> in {pair.splits[0]},{" "}
            <CaseLink dataset={dataset} caseId={pair.b} /> in {pair.splits[1]}
          </li>
        ))}
        {overlap.map(([file, found]) => (
          <li key={file}>
            {plural(found.count, "case")} also in {file}
          </li>
        ))}
      </ul>
      {near.pairs.length > pairs.length && (
        <Button variant="default" size="xs" mt="xs" onClick={() => setAll(true)}>
          Show the {near.pairs.length} that the manifest names
        </Button>
      )}
    </>
  );
}

function CaseLink({ dataset, caseId }: { dataset: string; caseId: string }) {
  return (
    <Link to="/cases/$dataset/$caseId" params={{ dataset, caseId }} search={{ dataset }}>
      {caseId}
    </Link>
  );
}
