/** One run: how far it is, what it measured, and every task behind the numbers. */
import { Button, Progress } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { withoutCommands } from "@/api/client";
import { FailingReplays } from "@/features/replay/Trajectories";
import { count, duration, moment, plural, roughly } from "@/ui/format";
import { Facts, Page, Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { AttemptDrawer } from "./AttemptDrawer";
import classes from "./benchmarks.module.css";
import {
  type Asked,
  type Attempt,
  canResume,
  goesOn,
  type Mean,
  PAGE,
  type Run,
  useCancel,
  useResults,
  useResume,
} from "./data";
import { EndedActions, Uncalibrated } from "./EndedActions";
import { decimals, meanInWords, remaining, spent, tokens } from "./figures";

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
  const { run, means, problems, attempts, total, asked } = results.data;
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
        {problems.map((problem) => (
          <p key={problem} role="alert" className={classes.runNote}>
            {problem}
          </p>
        ))}
      </Panel>
      <Panel title="Tasks" aside={plural(total, "attempt")} flush>
        <AttemptTable attempts={attempts} asked={asked} metrics={run.spec.metrics} open={open} />
        {total > PAGE && (
          <div className={classes.attemptPager}>
            <Button variant="default" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - PAGE))}>
              Earlier
            </Button>
            <Button variant="default" disabled={offset + PAGE >= total} onClick={() => setOffset(offset + PAGE)}>
              Later
            </Button>
            <p className={classes.runNote}>
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
    <span className={classes.broken}>
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
      <p className={classes.runNote}>
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

const SHOWN = 300;

type AttemptTableProps = {
  attempts: readonly Attempt[];
  asked: Record<string, Asked>;
  metrics: readonly string[];
  open: (caseId: string) => void;
};

/** A page of attempts with their measurements; the server gives errors and the lowest values first, which one looks for. */
function AttemptTable({ attempts, asked, metrics, open }: AttemptTableProps) {
  const repeated = attempts.some((attempt) => (attempt.trial ?? 0) > 0);
  if (attempts.length === 0) return <p className={classes.foot}>Nothing was attempted yet.</p>;
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th>Task</th>
            {metrics.map((metric) => (
              <th key={metric} className={classes.number}>
                {metric}
              </th>
            ))}
            <th>Reference</th>
            <th>Answer</th>
            <th className={classes.number}>Time</th>
          </tr>
        </thead>
        <tbody>
          {attempts.map((attempt) => (
            <tr key={`${attempt.case_id}/${attempt.trial}`}>
              <td className={classes.task}>
                <button type="button" className={classes.link} onClick={() => open(attempt.case_id)}>
                  <span dir="auto">{asked[attempt.case_id]?.question ?? attempt.case_id}</span>
                </button>
                <span className={classes.id}>{attempt.case_id}</span>
                {repeated && <span className={classes.under}>trial {(attempt.trial ?? 0) + 1}</span>}
              </td>
              {metrics.map((metric) => (
                <td key={metric} className={classes.number} title={attempt.measurements?.[metric]?.reason ?? undefined}>
                  {decimals(attempt.measurements?.[metric]?.value)}
                </td>
              ))}
              <td className={classes.short} dir="auto">
                {asked[attempt.case_id]?.reference}
              </td>
              <td className={attempt.error ? classes.broken : classes.short} dir="auto">
                {inShort(attempt)}
              </td>
              <td className={classes.number}>{attempt.cached ? "cached" : duration(attempt.latency_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The error, or the answer; an answer of calls alone is shown by their names. */
function inShort(attempt: Attempt): string {
  const called = (attempt.tool_calls ?? []).map((call) => call.name);
  const answer = attempt.output || (called.length ? `called ${called.join(", ")}` : "");
  return attempt.error ?? answer.slice(0, SHOWN);
}
