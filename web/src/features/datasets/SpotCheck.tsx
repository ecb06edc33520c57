/** Some cases of a version to read by eye. The seed names them: the same seed shows everybody the same cases. */
import { Button, NumberInput, Select } from "@mantine/core";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { Drawn } from "./Drawn";
import { type Build, useSample } from "./data";
import classes from "./datasets.module.css";

type SpotCheckProps = {
  dataset: string;
  builds: Build[];
  version: string;
  seed: number;
  split: string | undefined;
  opened: string | undefined;
  change: (part: { seed?: number; version?: string; split?: string; case?: string }) => void;
};

export function SpotCheck({ dataset, builds, version, seed, split, opened, change }: SpotCheckProps) {
  const splits = builds.find((build) => build.version === version)?.manifest.splits ?? {};
  const chosen = split && split in splits ? split : undefined;
  const sample = useSample(dataset, version, seed, chosen);
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
        {Object.keys(splits).length > 1 && (
          <Select
            label="Split"
            placeholder="all"
            clearable
            data={Object.keys(splits)}
            value={chosen ?? null}
            onChange={(value) => change({ split: value ?? undefined })}
          />
        )}
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
                required={splits[one.split]?.required ?? undefined}
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
