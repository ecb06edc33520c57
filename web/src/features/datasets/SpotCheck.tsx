/** Some cases of a version to read by eye. The seed names them: the same seed shows everybody the same cases. */
import { Button, NumberInput, Select } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { moment, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import { type Build, brief, type Lineage, readingOf, type Sampled, useLineage, useSample } from "./data";
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

type DrawnProps = { dataset: string; one: Sampled; required?: string[]; open: boolean; toggle: () => void };

/** One case of a sample: what is asked, what should be answered, and the contexts that must bear the answer out. */
function Drawn({ dataset, one, required, open, toggle }: DrawnProps) {
  const { asked, answer, contexts } = readingOf(one.record, required);
  const cited = contexts.filter((context) => context.cited).length;
  return (
    <li>
      <div className={classes.drawnHead}>
        <code>{one.id}</code>
        <span className="eg-dim">{one.split}</span>
        <Button variant="subtle" size="compact-sm" aria-expanded={open} onClick={toggle}>
          Lineage
        </Button>
      </div>
      <p className={classes.said} dir="auto">
        {visible(asked)}
      </p>
      <p className={classes.answer} dir="auto">
        {visible(answer || "(no reference)")}
      </p>
      {contexts.length > 0 && (
        <details className={classes.contexts}>
          <summary>
            {plural(contexts.length, "context")}, {cited} cited
          </summary>
          <ol>
            {contexts.map((context, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: contexts have no name but their place
              <li key={place} data-cited={context.cited}>
                <p className={classes.said} dir="auto">
                  {visible(context.text || "(lost)")}
                </p>
                {context.source && <code className={classes.hash}>{context.source}</code>}
              </li>
            ))}
          </ol>
        </details>
      )}
      {open && <LineageTrail dataset={dataset} caseId={one.id} />}
    </li>
  );
}

/** The server's word for a case of a RAG build, which is a line of its files and no row of the store. */
const FROZEN_ONLY = "in builds only";

/** One case from where it came from to where it went: trace, policy, case, builds, runs. */
function LineageTrail({ dataset, caseId }: { dataset: string; caseId: string }) {
  const lineage = useLineage(dataset, caseId);
  if (lineage.isPending) return <Loading what="lineage" rows={3} />;
  if (!lineage.data) return <Failed error={lineage.error} retry={() => void lineage.refetch()} />;
  return <Trail lineage={lineage.data} />;
}

function Trail({ lineage }: { lineage: Lineage }) {
  const { provenance, builds, runs, dataset, case_id: caseId, rev } = lineage;
  return (
    <ol className={classes.trail} aria-label={`Lineage of ${caseId}`}>
      <Step name={provenance.trace_id ? "Trace" : "Source"}>
        {provenance.trace_id ? (
          <Link to="/traces/$traceId" params={{ traceId: provenance.trace_id }}>
            {provenance.trace_id}
          </Link>
        ) : (
          (provenance.document ?? provenance.repository ?? provenance.source)
        )}
      </Step>
      <Step name="Policy">
        {provenance.policy ? `${provenance.policy}, revision ${brief(provenance.policy_rev)}` : "none: not curated"}
      </Step>
      <Step name="Case">
        {lineage.status === FROZEN_ONLY ? (
          caseId
        ) : (
          <Link to="/cases/$dataset/$caseId" params={{ dataset, caseId }} search={{ dataset }}>
            {caseId}
          </Link>
        )}{" "}
        <span className="eg-dim">
          now {lineage.status}, {brief(rev)}
        </span>
      </Step>
      <Step name="Builds">
        {builds.length === 0 && "none"}
        {alike(builds).map(([first, last]) => (
          <span key={first.version} className={classes.item}>
            {first === last ? first.version : `${first.version} to ${last.version}`} ({first.split})
            {first.rev !== rev && <em> said something else then</em>}
          </span>
        ))}
      </Step>
      <Step name="Runs">
        {runs.length === 0 && "none has tried it yet"}
        {runs.map((run) => (
          <span key={run.id} className={classes.item}>
            <Link to="/benchmarks/runs/$runId" params={{ runId: run.id }}>
              {run.model}
            </Link>
            {run.build ? ` on ${run.build}` : " on the cases as they were"}, {moment(run.created_at)}, {run.status},{" "}
            {plural(run.attempts, "attempt")}
            {run.rev !== rev && <em> with an earlier wording</em>}
          </span>
        ))}
      </Step>
    </ol>
  );
}

type BuildStep = Lineage["builds"][number];

/** First and last of each row of versions that hold the case in the same split and wording. */
function alike(builds: BuildStep[]): [BuildStep, BuildStep][] {
  const rows: [BuildStep, BuildStep][] = [];
  for (const build of builds) {
    const row = rows.at(-1);
    if (row && row[1].split === build.split && row[1].rev === build.rev) row[1] = build;
    else rows.push([build, build]);
  }
  return rows;
}

function Step({ name, children }: { name: string; children: ReactNode }) {
  return (
    <li>
      <span className={classes.step}>{name}</span>
      <div>{children}</div>
    </li>
  );
}
