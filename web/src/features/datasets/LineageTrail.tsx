/** One case from where it came from to where it went: trace, policy, case, builds, runs. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { moment, plural } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import { brief, type Lineage, useLineage } from "./data";
import classes from "./datasets.module.css";

/** The server's word for a case of a RAG build, which is a line of its files and no row of the store. */
const FROZEN_ONLY = "in builds only";

export function LineageTrail({ dataset, caseId }: { dataset: string; caseId: string }) {
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
