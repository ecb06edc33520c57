/** One task behind the numbers: what was asked, expected and answered, and why it was scored so. */
import { Button, Drawer } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import classes from "./benchmarks.module.css";
import { type Attempt, useRunCase, useToReview } from "./data";
import { decimals } from "./words";

type DrawerProps = { runId: string; caseId: string | null; close: () => void };

export function AttemptDrawer({ runId, caseId, close }: DrawerProps) {
  const detail = useRunCase(runId, caseId);
  return (
    <Drawer opened={caseId !== null} onClose={close} position="right" size="xl" title={caseId}>
      {detail.isPending && <Loading what="task" />}
      {detail.isError && <Failed error={detail.error} />}
      {detail.data && (
        <div className={classes.detail}>
          <TextBlock label="Input" text={detail.data.case.input} />
          <TextBlock label="Expected" text={detail.data.case.expected ?? ""} />
          {(detail.data.case.contexts ?? []).map((context, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a context's place is its name
            <TextBlock key={index} label={`Context ${index + 1}`} text={context.text ?? "(lost)"} />
          ))}
          {detail.data.attempts.map((attempt) => (
            <OneAttempt key={attempt.trial} runId={runId} attempt={attempt} />
          ))}
        </div>
      )}
    </Drawer>
  );
}

function OneAttempt({ runId, attempt }: { runId: string; attempt: Attempt }) {
  const toReview = useToReview(runId);
  const { case_id, trial = 0 } = attempt;
  return (
    <section className={classes.attempt}>
      <h3>Attempt {trial + 1}</h3>
      {attempt.error ? (
        <p className={classes.problem}>{attempt.error}</p>
      ) : (
        <TextBlock label="Answer" text={attempt.output ?? ""} />
      )}
      {(attempt.tool_calls ?? []).map((call) => (
        <TextBlock key={call.name} label={`Called ${call.name}`} text={JSON.stringify(call.args, null, 2)} />
      ))}
      <ul className={classes.reasons}>
        {Object.entries(attempt.measurements ?? {}).map(([metric, found]) => (
          <li key={metric}>
            <strong>{metric}</strong> {found.value === null ? found.state : decimals(found.value)}
            {found.reason ? `: ${found.reason}` : ""}
          </li>
        ))}
      </ul>
      {toReview.data ? (
        <p className={classes.note}>
          It is{" "}
          <Link
            to="/cases/$dataset/$caseId"
            params={{ dataset: toReview.data.dataset ?? "", caseId: toReview.data.id }}
          >
            a case to review
          </Link>
          .
        </p>
      ) : (
        <Button variant="default" loading={toReview.isPending} onClick={() => toReview.mutate({ case_id, trial })}>
          Make it a case to review
        </Button>
      )}
      {toReview.isError && <p className={classes.problem}>{toReview.error.message}</p>}
    </section>
  );
}
