/** Two versions side by side: how far they drifted apart, and which cases differ. */
import { Button, Select } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Chart, type Colour, LyingBars } from "@/ui/Chart";
import { count, plural, unit } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { type Build, type Diff, type Portrait, useCase, useComparison, useDiff } from "./data";
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

const SHOWN = 20;
const LONGEST = 160;
const NAMES = ["added", "removed", "changed", "moved", "unchanged"] as const;

/** `stored`: whether the cases are in the store, and so have pages of their own; those of a RAG build are in its files only. */
/** Added, removed, moved and changed cases; a changed one field by field. Long lists show their beginning. */
function DiffView({ dataset, diff, stored }: { dataset: string; diff: Diff; stored: boolean }) {
  const same = diff.counts.added + diff.counts.removed + diff.counts.changed + diff.counts.moved === 0;
  const link = (id: string) =>
    stored ? (
      <Link to="/cases/$dataset/$caseId" params={{ dataset, caseId: id }} search={{ dataset }}>
        <CaseName dataset={dataset} id={id} />
      </Link>
    ) : (
      <code>{id}</code>
    );
  return (
    <>
      <dl className={classes.counts}>
        {NAMES.map((name) => (
          <div key={name} data-name={name}>
            <dt>{name}</dt>
            <dd>{count(diff.counts[name])}</dd>
          </div>
        ))}
      </dl>
      {same && <p className={classes.calm}>Both versions hold the same cases.</p>}
      <Group title="Changed" ids={Object.keys(diff.changed)}>
        {(id) => (
          <>
            {link(id)}
            {(diff.changed[id] ?? []).map((change) => (
              <div key={change.field} className={classes.change}>
                <span className={classes.field}>{change.field}</span>
                <del>{shown(change.before)}</del>
                <ins>{shown(change.after)}</ins>
              </div>
            ))}
          </>
        )}
      </Group>
      <Group title="Added" ids={diff.added}>
        {link}
      </Group>
      <Group title="Removed" ids={diff.removed}>
        {link}
      </Group>
      <Group title="Moved to another split" ids={Object.keys(diff.moved)}>
        {(id) => (
          <>
            {link(id)}{" "}
            <span className="eg-dim">
              {diff.moved[id]?.from} → {diff.moved[id]?.to}
            </span>
          </>
        )}
      </Group>
    </>
  );
}

/** The question of a case; its id while that is not known, or where the case is gone. */
function CaseName({ dataset, id }: { dataset: string; id: string }) {
  const held = useCase(dataset, id);
  return (
    <span dir="auto" title={id}>
      {held.data?.name || held.data?.input.slice(0, LONGEST) || id}
    </span>
  );
}

function Group({ title, ids, children }: { title: string; ids: string[]; children: (id: string) => ReactNode }) {
  const [limit, setLimit] = useState(SHOWN);
  if (ids.length === 0) return null;
  return (
    <section className={classes.group}>
      <h3>{title}</h3>
      <ul className={classes.plain} aria-label={title}>
        {ids.slice(0, limit).map((id) => (
          <li key={id}>{children(id)}</li>
        ))}
      </ul>
      {ids.length > limit && (
        <Button variant="default" size="xs" onClick={() => setLimit(limit + 10 * SHOWN)}>
          Show more of the {count(ids.length)}
        </Button>
      )}
    </section>
  );
}

/** A value as text; the server writes "..." for a field that was not there. */
function shown(value: unknown): string {
  if (value === "...") return "(not there)";
  return typeof value === "string" ? value : JSON.stringify(value);
}

type Counts = Record<string, number>;
type DriftProps = { before: Portrait; after: Portrait; drift: Counts };

const MOST = 12;

/** What two versions are made of, as shares, and how far apart that is: 0 is alike, 1 has nothing in common. */
function Drift({ before, after, drift }: DriftProps) {
  const parts = [
    { title: "Types", of: "type", from: before.types, to: after.types },
    { title: "Tags", of: "tag", from: before.tags, to: after.tags },
    { title: "Length of the input", of: "input length", from: before.input_lengths, to: after.input_lengths },
    {
      title: "Length of the reference",
      of: "reference length",
      from: before.reference_lengths,
      to: after.reference_lengths,
    },
  ];
  return (
    <>
      <p className={classes.calm}>
        Repeated cases: {plural(before.repeated, "case")} in {before.version}, {plural(after.repeated, "case")} in{" "}
        {after.version}.
      </p>
      <div className={classes.grid}>
        {parts.map(({ title, of, from, to }) => (
          <Panel key={of} title={title} aside={`drift ${unit(drift[of] ?? 0)}`}>
            <Shares
              title={title}
              lengths={of.endsWith("length")}
              before={{ name: before.version, counts: from, all: before.records }}
              after={{ name: after.version, counts: to, all: after.records }}
            />
          </Panel>
        ))}
      </div>
    </>
  );
}

type Side = { name: string; counts: Counts; all: number };
type SharesProps = { title: string; lengths: boolean; before: Side; after: Side };

function Shares({ title, lengths, before, after }: SharesProps) {
  const keys = order({ ...before.counts, ...after.counts }, lengths);
  if (keys.length === 0) return <p className={classes.calm}>Neither version has any.</p>;
  const all = Object.keys({ ...before.counts, ...after.counts }).length;
  const side = ({ name, counts, all }: Side, colour: Colour) => ({
    name: `${name}, % of cases`,
    short: name,
    colour,
    values: keys.map((key) => Math.round((1000 * (counts[key] ?? 0)) / Math.max(1, all)) / 10),
  });
  const label = `${title} of ${before.name} and ${after.name}`;
  const series = [side(before, "mute"), side(after, "gold")];
  return (
    <>
      {lengths ? (
        <Chart label={label} height={210} kind="bars" names={keys.map((key) => `≤ ${key}`)} series={series} />
      ) : (
        <LyingBars label={label} names={keys} series={series} />
      )}
      {all > keys.length && (
        <p className={classes.calm}>
          The {keys.length} most frequent of {all}.
        </p>
      )}
    </>
  );
}

/** Lengths in their order, names by how often they occur, the most frequent only. */
function order(counts: Counts, lengths: boolean): string[] {
  const keys = Object.keys(counts);
  if (lengths) return keys.sort((one, other) => Number(one) - Number(other));
  return keys.sort((one, other) => (counts[other] ?? 0) - (counts[one] ?? 0)).slice(0, MOST);
}
