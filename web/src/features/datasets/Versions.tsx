/** Versions over time, and what one of them holds, leaves out and leaks. */
import { useCallback } from "react";
import { Chart, type Palette } from "@/ui/Chart";
import { Facts } from "@/ui/Facts";
import { count, moment, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { bars } from "./charts";
import { type Build, brief, casesIn } from "./data";
import classes from "./datasets.module.css";
import { Files } from "./Files";
import { Leaks } from "./Leaks";

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
  const option = useCallback(
    (colours: Palette) => {
      const names = [...new Set(builds.flatMap((build) => Object.keys(build.manifest.splits ?? {})))];
      const shades = [colours.gold, colours.sea, colours.soft, colours.rust, colours.mute];
      return bars(
        colours,
        builds.map((build) => build.version),
        names.map((name, index) => ({
          name,
          colour: shades[index % shades.length] ?? colours.gold,
          data: builds.map((build) => build.manifest.splits?.[name]?.count ?? 0),
        })),
        { stack: "split" },
      );
    },
    [builds],
  );
  const onSelect = useCallback(
    (index: number) => {
      const build = builds[index];
      if (build) choose(build.version);
    },
    [builds, choose],
  );
  const words = builds.map((build) => `${build.version} ${plural(casesIn(build), "case")}`).join(", ");
  return <Chart label={words} height={220} option={option} onSelect={onSelect} />;
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
