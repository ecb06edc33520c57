/** What stands in two splits, or in a file meant for training. */
import { plural } from "@/ui/format";
import type { Manifest } from "./data";
import classes from "./datasets.module.css";

export function Leaks({ manifest }: { manifest: Manifest }) {
  const near = manifest.near_duplicates;
  if (!near) return <p className={classes.calm}>Not looked for in this version.</p>;
  const overlap = Object.entries(manifest.overlap ?? {}).filter(([, found]) => found.count > 0);
  if (near.count === 0 && overlap.length === 0) {
    return <p className={classes.calm}>No near-duplicate stands in two splits.</p>;
  }
  return (
    <ul className={classes.plain}>
      {near.count > 0 && <li>{plural(near.count, "pair")} of near-duplicates in different splits</li>}
      {near.pairs.map((pair) => (
        <li key={`${pair.a} ${pair.b}`} className={classes.pair}>
          <code>{pair.a}</code> ({pair.splits[0]}) ~ <code>{pair.b}</code> ({pair.splits[1]})
        </li>
      ))}
      {overlap.map(([file, found]) => (
        <li key={file}>
          {plural(found.count, "case")} also in {file}
        </li>
      ))}
    </ul>
  );
}
