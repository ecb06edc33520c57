/** Some cases of a version to read by eye. The seed names them: the same seed shows everybody the same cases. */
import { Button, NumberInput, Select } from "@mantine/core";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { type Build, type Sampled, useSample } from "./data";
import classes from "./datasets.module.css";
import { LineageTrail } from "./LineageTrail";

type SpotCheckProps = {
  dataset: string;
  builds: Build[];
  version: string;
  seed: number;
  opened: string | undefined;
  change: (part: { seed?: number; version?: string; case?: string }) => void;
};

export function SpotCheck({ dataset, builds, version, seed, opened, change }: SpotCheckProps) {
  const sample = useSample(dataset, version, seed);
  return (
    <>
      <div className={classes.controls}>
        <Select
          label="Version"
          data={builds.map((build) => build.version)}
          value={version}
          allowDeselect={false}
          onChange={(value) => value && change({ version: value })}
        />
        <NumberInput
          label="Seed"
          min={0}
          allowDecimal={false}
          allowNegative={false}
          value={seed}
          onChange={(value) => typeof value === "number" && change({ seed: value })}
        />
        <Button variant="default" onClick={() => change({ seed: seed + 1 })}>
          Draw others
        </Button>
      </div>
      <Panel
        title="Sample"
        aside={sample.data && `${sample.data.records.length} of ${sample.data.of} cases, seed ${seed}`}
      >
        {sample.isPending ? (
          <Loading what="sample" />
        ) : !sample.data ? (
          <Failed error={sample.error} retry={() => void sample.refetch()} />
        ) : (
          <ul className={classes.sample} aria-label="Sample">
            {sample.data.records.map((one) => (
              <Drawn
                key={one.id}
                dataset={dataset}
                one={one}
                open={one.id === opened}
                toggle={() => change({ case: one.id === opened ? undefined : one.id })}
              />
            ))}
          </ul>
        )}
      </Panel>
    </>
  );
}

type DrawnProps = { dataset: string; one: Sampled; open: boolean; toggle: () => void };

function Drawn({ dataset, one, open, toggle }: DrawnProps) {
  const { input, expected, output } = one.record as Record<string, string | null | undefined>;
  return (
    <li>
      <div className={classes.drawnHead}>
        <code>{one.id}</code>
        <span className="eg-dim">{one.split}</span>
        <Button variant="subtle" size="compact-sm" aria-expanded={open} onClick={toggle}>
          Lineage
        </Button>
      </div>
      <p className={classes.said}>{input}</p>
      <p className={classes.answer}>{expected ?? output ?? "(no reference)"}</p>
      {open && <LineageTrail dataset={dataset} caseId={one.id} />}
    </li>
  );
}
