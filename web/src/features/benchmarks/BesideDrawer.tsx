/** One task as several runs answered it: question and reference once, the answers side by side with their differences. */
import { Button, Drawer } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { referenceText } from "@/ui/cases";
import { Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { differences } from "@/ui/text";
import classes from "./benchmarks.module.css";
import { type Attempt, useRunCases } from "./data";
import { decimals } from "./figures";

type BesideDrawerProps = {
  runs: readonly string[];
  names: ReadonlyMap<string, string>;
  caseId: string | null;
  tasks: readonly string[];
  open: (caseId: string | null) => void;
};

export function BesideDrawer({ runs, names, caseId, tasks, open }: BesideDrawerProps) {
  const answers = useRunCases(runs, caseId);
  const at = caseId === null ? -1 : tasks.indexOf(caseId);
  const previous = at > 0 ? tasks[at - 1] : undefined;
  const next = tasks[at + 1];
  const step = (to: string | undefined) => () => to !== undefined && open(to);
  useHotkeys([
    ["n", step(next)],
    ["p", step(previous)],
  ]);
  const first = answers[0]?.data;
  const failed = answers.find((each) => each.isError);
  return (
    <Drawer
      opened={caseId !== null}
      onClose={() => open(null)}
      position="right"
      size="min(1400px, 97vw)"
      title="Answers side by side"
    >
      <nav className={classes.pager} aria-label="Tasks">
        <Button variant="default" size="compact-sm" disabled={!previous} aria-keyshortcuts="p" onClick={step(previous)}>
          Previous (p)
        </Button>
        <Button variant="default" size="compact-sm" disabled={!next} aria-keyshortcuts="n" onClick={step(next)}>
          Next (n)
        </Button>
        {at >= 0 && (
          <span className={classes.note}>
            {at + 1} of {tasks.length}
          </span>
        )}
      </nav>
      {failed?.error && <Failed error={failed.error} />}
      {!first && !failed && <Loading what="task" />}
      {first && (
        <>
          <div className={classes.asked}>
            <TextBlock label="Question" text={first.case.input} />
            <TextBlock label="Reference" text={referenceText(first.case)} tone="gold" absent="none" />
          </div>
          <div className={classes.answers}>
            {runs.map((run, index) => (
              <Column
                key={run}
                name={names.get(run) ?? run}
                runId={run}
                caseId={first.case.id}
                attempt={answers[index]?.data?.attempts[0]}
                baseline={index === 0 ? undefined : (first.attempts[0]?.output ?? "")}
              />
            ))}
          </div>
        </>
      )}
    </Drawer>
  );
}

type ColumnProps = { name: string; runId: string; caseId: string; attempt: Attempt | undefined; baseline?: string };

function Column({ name, runId, caseId, attempt, baseline }: ColumnProps) {
  return (
    <section className={classes.answer} aria-label={name}>
      <h3>
        <Link to="/benchmarks/runs/$runId" params={{ runId }} search={{ case: caseId }}>
          {name}
        </Link>
      </h3>
      {attempt?.error && <p className={classes.problem}>{attempt.error}</p>}
      <p className={classes.text} dir="auto">
        {attempt === undefined ? "Not answered in this run." : marked(attempt, baseline)}
      </p>
      <dl className={classes.besideScores}>
        {Object.entries(attempt?.measurements ?? {}).map(([metric, measured]) => (
          <div key={metric}>
            <dt>{metric}</dt>
            <dd title={measured.reason ?? undefined}>
              {measured.value === null ? measured.state : decimals(measured.value)}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The answer, with the words that the baseline's answer lacks marked. */
function marked(attempt: Attempt, baseline: string | undefined): ReactNode {
  const answer = attempt.output || (attempt.tool_calls ?? []).map((call) => `called ${call.name}`).join(", ");
  if (baseline === undefined) return answer;
  return differences(baseline, answer).map(({ text, differs }, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
    differs ? <mark key={index}>{text}</mark> : text,
  );
}
