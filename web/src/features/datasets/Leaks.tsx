/** What stands in two splits, or in a file meant for training. */
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { plural } from "@/ui/format";
import type { Manifest } from "./data";
import classes from "./datasets.module.css";

const SHOWN = 8;

export function Leaks({ dataset, manifest }: { dataset: string; manifest: Manifest }) {
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
