/** One run: how far it is, what it measured, and every task behind the numbers. */
import { Button, Progress } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { withoutCommands } from "@/api/plainWords";
import { FailingReplays } from "@/features/replay/FailingReplays";
import { Facts } from "@/ui/Facts";
import { count, moment, plural, roughly } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { AttemptDrawer } from "./AttemptDrawer";
import { AttemptTable } from "./AttemptTable";
import attemptClasses from "./attempt.module.css";
import { canResume, goesOn, type Mean, PAGE, type Run, useCancel, useResults, useResume } from "./data";
import { EndedActions } from "./EndedActions";
import classes from "./run.module.css";
import tablesClasses from "./tables.module.css";
import { Uncalibrated } from "./Uncalibrated";
import { meanInWords, remaining, spent, tokens } from "./words";

const route = getRouteApi("/benchmarks/runs/$runId");

export function RunPage() {
  const { runId } = route.useParams();
  const { case: opened = null } = route.useSearch();
  const navigate = route.useNavigate();
  const [offset, setOffset] = useState(0);
  const open = (caseId: string | null) =>
    void navigate({ search: caseId ? { case: caseId } : {}, replace: true, resetScroll: false });
  const results = useResults(runId, offset);
  if (!results.data) {
    return (
      <Page title="Run" lead={<Link to="/benchmarks">Benchmarks</Link>}>
        {results.isPending ? (
          <Loading what="run" />
        ) : (
          <Failed error={results.error} retry={() => void results.refetch()} />
        )}
      </Page>
    );
  }
  const { run, means, attempts, total, asked } = results.data;
  const tasks = [...new Set(attempts.map((attempt) => attempt.case_id))];
  return (
    <Page
      title={`${run.spec.model} on ${run.spec.dataset}`}
      lead={
        <>
          <Link to="/benchmarks">Benchmarks</Link> · <span data-status={run.status}>{run.status}</span>
          {run.error && ` · ${withoutCommands(run.error)}`}
          {run.failed && !goesOn(run) ? <Broken run={run} /> : null}
        </>
      }
      actions={<RunActions run={run} />}
    >
      {goesOn(run) && <Going run={run} />}
      <Uncalibrated runId={runId} />
      <Panel title="Measurements">
        <Means means={means} />
      </Panel>
      <Panel title="Tasks" aside={plural(total, "attempt")} flush>
        <AttemptTable attempts={attempts} asked={asked} metrics={run.spec.metrics} open={open} />
        {total > PAGE && (
          <div className={attemptClasses.pager}>
            <Button variant="default" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - PAGE))}>
              Earlier
            </Button>
            <Button variant="default" disabled={offset + PAGE >= total} onClick={() => setOffset(offset + PAGE)}>
              Later
            </Button>
            <p className={classes.note}>
              {count(offset + 1)} to {count(Math.min(offset + PAGE, total))} of {count(total)}, the worst first
            </p>
          </div>
        )}
      </Panel>
      <Panel title="Where this comes from">
        <Provenance run={run} />
      </Panel>
      <AttemptDrawer runId={runId} caseId={opened} tasks={tasks} open={open} />
    </Page>
  );
}

function RunActions({ run }: { run: Run }) {
  const may = useMay("editor");
  if (goesOn(run)) return may ? <CancelButton runId={run.id} /> : null;
  return (
    <>
      {may && canResume(run) && <ResumeButton runId={run.id} />}
      {may && run.spec.replay && <FailingReplays runId={run.id} />}
      <EndedActions run={run} />
    </>
  );
}

function CancelButton({ runId }: { runId: string }) {
  const cancel = useCancel(runId);
  return (
    <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
      Cancel
    </Button>
  );
}

function ResumeButton({ runId }: { runId: string }) {
  const resume = useResume(runId);
  return (
    <Button variant="default" loading={resume.isPending} onClick={() => resume.mutate()}>
      Go on with it
    </Button>
  );
}

function Broken({ run }: { run: Run }) {
  return (
    <span className={tablesClasses.broken}>
      {" "}
      · {count(run.failed ?? 0)} of {plural(run.done ?? 0, "attempt")} failed
    </span>
  );
}

function Going({ run }: { run: Run }) {
  const done = run.done ?? 0;
  const total = run.total ?? 0;
  const left = remaining(run);
  return (
    <div className={classes.going} role="status">
      <Progress value={total ? (100 * done) / total : 0} aria-label="Progress" />
      <p className={classes.note}>
        {count(done)} of {count(total)} · {count(run.failed ?? 0)} failed · {count(tokens(run.usage ?? {}))} tokens
        {left === null ? "" : ` · about ${roughly(left)} left`}
      </p>
    </div>
  );
}

function Means({ means }: { means: readonly Mean[] }) {
  return (
    <ul className={classes.means}>
      {means.map((mean) => (
        <li key={mean.metric}>
          <span className={classes.metric}>{mean.metric}</span>
          <span className={classes.bar} aria-hidden="true">
            <span style={{ width: `${100 * Math.min(1, Math.max(0, mean.value ?? 0))}%` }} />
          </span>
          <span>{meanInWords(mean)}</span>
        </li>
      ))}
    </ul>
  );
}

function Provenance({ run }: { run: Run }) {
  const dataset = (run.provenance?.dataset ?? {}) as Record<string, unknown>;
  return (
    <Facts
      facts={[
        ["Run", run.id],
        ["Dataset", `${run.spec.dataset} ${String(dataset.version ?? "")}`],
        ["Content", String(dataset.content_hash ?? "")],
        ["Model", String(run.provenance?.target ?? run.spec.model)],
        ["Judge", [...new Set((run.metrics ?? []).flatMap((metric) => metric.judge ?? []))].join(", ")],
        ["Metrics", (run.metrics ?? []).map((metric) => `${metric.name} v${metric.version}`).join(", ")],
        ["Started", moment(run.started_at)],
        ["Ended", moment(run.ended_at)],
        ["Answering", spent(run.usage ?? {})],
        ["Judging", run.metrics?.some((metric) => metric.judge) ? spent(run.judge_usage ?? {}) : ""],
      ]}
    />
  );
}
