/** One task behind the numbers: what was asked, expected and answered, and why it was scored so. */
import { Button, Drawer } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { TrajectoryBesideRecord } from "@/features/replay/Trajectories";
import { referenceText } from "@/ui/cases";
import { Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { visible } from "@/ui/text";
import classes from "./benchmarks.module.css";
import { type Attempt, useRunCase, useToReview } from "./data";
import { decimals } from "./figures";

/** A title is a line or two; the whole text stands below it. */
const TITLE_MOST = 160;

type DrawerProps = {
  runId: string;
  caseId: string | null;
  tasks: readonly string[];
  open: (caseId: string | null) => void;
};
type Call = { name: string; args?: Record<string, unknown> };

export function AttemptDrawer({ runId, caseId, tasks, open }: DrawerProps) {
  const detail = useRunCase(runId, caseId);
  const at = caseId === null ? -1 : tasks.indexOf(caseId);
  const previous = at > 0 ? tasks[at - 1] : undefined;
  const next = at >= 0 ? tasks[at + 1] : undefined;
  useHotkeys([
    ["n", () => next !== undefined && open(next)],
    ["p", () => previous !== undefined && open(previous)],
  ]);
  return (
    <Drawer
      opened={caseId !== null}
      onClose={() => open(null)}
      position="right"
      size="min(1080px, 94vw)"
      title={visible((detail.data?.case.input || caseId || "").slice(0, TITLE_MOST))}
      classNames={{ title: classes.drawerTitle }}
    >
      <nav className={classes.attemptPager} aria-label="Tasks of this page">
        <Step label="Previous" keys="p" to={previous} open={open} />
        <Step label="Next" keys="n" to={next} open={open} />
        {at >= 0 && (
          <p className={classes.runNote}>
            {at + 1} of {tasks.length}
          </p>
        )}
      </nav>
      {detail.isPending && <Loading what="task" />}
      {detail.isError && <Failed error={detail.error} />}
      {detail.data && (
        <div className={classes.detail}>
          <TextBlock label="Input" text={detail.data.case.input} />
          <p className={classes.runNote}>
            Case <code>{caseId}</code>
          </p>
          {detail.data.attempts.map((attempt) => (
            <OneAttempt key={attempt.trial} runId={runId} asked={detail.data.case} attempt={attempt} />
          ))}
          {(detail.data.case.contexts ?? []).map((context, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a context's place is its name
            <TextBlock key={index} label={`Context ${index + 1}`} text={context.text ?? "(lost)"} />
          ))}
        </div>
      )}
    </Drawer>
  );
}

/** The same tool may be called twice, so a call's place is its name. */
function Calls({ label, calls }: { label: string; calls: readonly Call[] }) {
  return calls.map((call, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: calls are shown in their order and never move
    <TextBlock key={index} label={`${label} ${call.name}`} text={JSON.stringify(call.args ?? {}, null, 2)} />
  ));
}

type StepProps = { label: string; keys: string; to: string | undefined; open: (caseId: string) => void };

function Step({ label, keys, to, open }: StepProps) {
  return (
    <Button
      variant="default"
      size="compact-sm"
      disabled={to === undefined}
      aria-keyshortcuts={keys}
      onClick={() => to !== undefined && open(to)}
    >
      {label} ({keys})
    </Button>
  );
}

/** Reference and answer side by side, then the scores with their reasons. */
function OneAttempt({ runId, asked, attempt }: { runId: string; asked: Schemas["Case"]; attempt: Attempt }) {
  const { trial = 0 } = attempt;
  return (
    <section className={classes.attempt}>
      <h3>{trial === 0 ? "Attempt" : `Attempt ${trial + 1}`}</h3>
      <div className={classes.beside}>
        <div className={classes.detail}>
          <TextBlock label="Expected" text={referenceText(asked)} absent="no reference" tone="gold" />
          <Calls label="Expected call of" calls={asked.expected_tools ?? []} />
        </div>
        <div className={classes.detail}>
          {attempt.error ? (
            <p className={classes.runProblem}>{attempt.error}</p>
          ) : (
            <TextBlock label="Answer" text={attempt.output ?? ""} absent="no text" />
          )}
          {attempt.metadata?.replay === undefined && <Calls label="Called" calls={attempt.tool_calls ?? []} />}
        </div>
      </div>
      <Reasons attempt={attempt} />
      {attempt.metadata?.replay !== undefined && (
        <TrajectoryBesideRecord runId={runId} caseId={attempt.case_id} trial={trial} />
      )}
      {!attempt.error && <ToReview runId={runId} attempt={attempt} />}
    </section>
  );
}

function Reasons({ attempt }: { attempt: Attempt }) {
  const measured = Object.entries(attempt.measurements ?? {});
  if (measured.length === 0) return null;
  return (
    <dl className={classes.reasons}>
      {measured.map(([metric, found]) => (
        <div key={metric}>
          <dt>{metric}</dt>
          <dd>
            <strong>{found.value === null ? found.state : decimals(found.value)}</strong>
            {found.reason && <span className={classes.under}>{found.reason}</span>}
            {found.details?.outside === true && (
              <span className={classes.under}>outside the languages the judge was measured in: words alone</span>
            )}
            <Claims verdicts={(found.details?.verdicts ?? []) as readonly Verdict[]} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

type Verdict = { id: number; verdict: string; claim?: string; p?: number; uncertain?: boolean; evidence?: string };

/** What the judge found for each claim, with the sentence of the contexts that bears on it marked. */
function Claims({ verdicts }: { verdicts: readonly Verdict[] }) {
  const judged = verdicts.filter((one) => one.claim !== undefined && one.evidence !== undefined);
  if (judged.length === 0) return null;
  return (
    <ol className={classes.claims} aria-label="Claims and their evidence">
      {judged.map((one) => (
        <li key={one.id}>
          {one.claim}{" "}
          <span className={classes.under}>
            {one.verdict}
            {one.p !== undefined && `, ${decimals(one.p)}`}
            {one.uncertain && ", uncertain"}
            {one.evidence && (
              <>
                {": "}
                <mark>{one.evidence}</mark>
              </>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}

function ToReview({ runId, attempt }: { runId: string; attempt: Attempt }) {
  const toReview = useToReview(runId);
  const { case_id, trial = 0 } = attempt;
  if (toReview.data)
    return (
      <p className={classes.runNote}>
        It is{" "}
        <Link to="/cases/$dataset/$caseId" params={{ dataset: toReview.data.dataset ?? "", caseId: toReview.data.id }}>
          a case to review
        </Link>
        .
      </p>
    );
  return (
    <>
      <Button
        className={classes.start}
        variant="default"
        size="compact-sm"
        loading={toReview.isPending}
        onClick={() => toReview.mutate({ case_id, trial })}
      >
        Make it a case to review
      </Button>
      {toReview.isError && <p className={classes.runProblem}>{toReview.error.message}</p>}
    </>
  );
}
