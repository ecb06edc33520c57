/** What two versions are made of, as shares, and how far apart that is: 0 is alike, 1 has nothing in common. */
import { useCallback } from "react";
import { Chart, type Palette } from "@/ui/Chart";
import { plural, unit } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { bars } from "./charts";
import type { Portrait } from "./data";
import classes from "./datasets.module.css";

type Counts = Record<string, number>;
type DriftProps = { before: Portrait; after: Portrait; drift: Counts };

const MOST = 12;

export function Drift({ before, after, drift }: DriftProps) {
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
  const option = useCallback(
    (colours: Palette) => {
      const names = order({ ...before.counts, ...after.counts }, lengths);
      const side = ({ name, counts, all }: Side, colour: string) => ({
        name: `${name}, % of cases`,
        colour,
        data: names.map((key) => Math.round((1000 * (counts[key] ?? 0)) / Math.max(1, all)) / 10),
      });
      const labels = lengths ? names.map((key) => `≤ ${key}`) : names;
      return bars(colours, labels, [side(before, colours.mute), side(after, colours.gold)], { lying: !lengths });
    },
    [before, after, lengths],
  );
  if (keys.length === 0) return <p className={classes.calm}>Neither version has any.</p>;
  const all = Object.keys({ ...before.counts, ...after.counts }).length;
  const height = lengths ? 210 : 70 + 26 * keys.length;
  return (
    <>
      <Chart label={`${title} of ${before.name} and ${after.name}`} height={height} option={option} />
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
