/** Replayed trajectories beside the record: one, those of a case, those of two runs; and failing ones as cases. */
import { Button, Select } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { moment, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import {
  type AlignedCall,
  type AlignedTrajectory,
  type Call,
  type CaseReplay,
  useDiffering,
  useFailingToReview,
  useReplaysOfCase,
  useTrajectory,
} from "./data";
import classes from "./replay.module.css";
import { allInWords, changedArguments, type StepRow, spentInWords, spentOf, stepRows, totals } from "./steps";

type TrajectoryProps = { runId: string; caseId: string; trial: number };

export function TrajectoryBesideRecord({ runId, caseId, trial }: TrajectoryProps) {
  const trajectory = useTrajectory(runId, caseId, trial);
  if (trajectory.isPending) return <Loading what="trajectory" />;
  if (trajectory.isError) return <Failed error={trajectory.error} />;
  const { rows, why, stopped } = trajectory.data;
  return (
    <section aria-label="Trajectory beside the record">
      <h4 className={classes.title}>Trajectory beside the record</h4>
      <p className={classes.note}>
        {rows.length === 0 ? "No call was recorded and none was made" : (why ?? "The calls are the recorded ones")}.
        {stopped && ` Stopped: ${stopped}.`}
      </p>
      <StepTable sides={[{ title: "Replayed", trajectory: trajectory.data }]} />
    </section>
  );
}

/** Replays of a case for its reviewer: which runs played it, and one of them beside the record. */
export function CaseReplays({ dataset, caseId }: { dataset: string; caseId: string }) {
  const replays = useReplaysOfCase(dataset, caseId);
  const [chosen, setChosen] = useState<string | null>(null);
  const [newest] = replays.data ?? [];
  if (!newest) return null; // most cases were never replayed
  const shown = replays.data?.find((one) => keyOf(one) === chosen) ?? newest;
  return (
    <section className={classes.replays} aria-label="Replays of this case">
      <Select
        label="Replay"
        allowDeselect={false}
        data={(replays.data ?? []).map((one) => ({ value: keyOf(one), label: inWords(one) }))}
        value={keyOf(shown)}
        onChange={setChosen}
      />
      <TrajectoryBesideRecord runId={shown.run_id} caseId={shown.case_id} trial={shown.trial} />
    </section>
  );
}

const keyOf = (one: CaseReplay) => `${one.run_id} ${one.case_id} ${one.trial}`;

function inWords(one: CaseReplay): string {
  const turn = one.case_id.match(/#turn-(\d+)$/)?.[1];
  const parts = [
    one.model,
    turn && `turn ${turn}`,
    one.trial > 0 && `attempt ${one.trial + 1}`,
    typeof one.value === "number" && `trajectory ${one.value.toFixed(3)}`,
    moment(one.created_at),
  ];
  return parts.filter(Boolean).join(" · ");
}

type ComparedProps = { first: string; second: string; names: readonly [string, string] };

/** The cases that left the record in one of two replays; one of them opens step by step, both runs beside the record. */
export function ComparedTrajectories({ first, second, names }: ComparedProps) {
  const differing = useDiffering(first, second);
  const [open, setOpen] = useState<string | null>(null);
  return (
    <Panel title={`Trajectories of ${names[1]} and ${names[0]} beside the record`}>
      {differing.isPending && <Loading what="trajectories" rows={3} />}
      {differing.isError && <p className={classes.note}>{differing.error.message}</p>}
      {differing.data?.length === 0 && <p className={classes.note}>Both runs made the recorded calls in every case.</p>}
      {differing.data && differing.data.length > 0 && (
        <ul className={classes.cases}>
          {differing.data.map((one) => (
            <li key={one.case_id}>
              <button
                type="button"
                aria-expanded={open === one.case_id}
                onClick={() => setOpen(open === one.case_id ? null : one.case_id)}
              >
                <span dir="auto">
                  {one.question || one.case_id}
                  <span className={classes.under}>{one.case_id}</span>
                </span>
                <span className={classes.values}>
                  {one.first.toFixed(3)} → {one.second.toFixed(3)}
                </span>
              </button>
              {open === one.case_id && <Both first={first} second={second} names={names} caseId={one.case_id} />}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Both({ first, second, names, caseId }: ComparedProps & { caseId: string }) {
  const one = useTrajectory(first, caseId, 0);
  const other = useTrajectory(second, caseId, 0);
  if (one.isPending || other.isPending) return <Loading what="trajectories" rows={3} />;
  if (one.isError || other.isError) return <Failed error={one.error ?? other.error} />;
  const sides = [
    { title: names[0], trajectory: one.data },
    { title: names[1], trajectory: other.data },
  ];
  return (
    <section aria-label="Two trajectories beside the record">
      {sides.map(({ title, trajectory }) => (
        <p key={title} className={classes.note}>
          <strong>{title}</strong>: {trajectory.why ?? "the recorded calls"}.
        </p>
      ))}
      <StepTable sides={sides} />
    </section>
  );
}

/** Recorded calls and those of one or two replays, aligned step by step: divergence marked, tokens and cost per request. */
type Side = { title: string; trajectory: AlignedTrajectory };

const WORDS = {
  same: "as recorded",
  changed: "other arguments",
  missing: "not called",
  extra: "not recorded here",
} as const;
const ORIGINS: Record<string, string> = {
  near: "result recorded for nearly the same arguments",
  error: "got a tool error: not recorded",
  invented: "result invented by a model: not recorded",
  none: "the replay stopped here: not recorded",
};

function StepTable({ sides }: { sides: readonly Side[] }) {
  const rows = stepRows(sides.map(({ trajectory }) => trajectory.rows));
  const first = sides[0]?.trajectory;
  return (
    <div className={classes.frame}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th className={classes.number}>Step</th>
            <th>Recorded</th>
            {sides.map(({ title }) => (
              <th key={title}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows stand in their order and never move
            <OneStep key={index} row={row} sides={sides} />
          ))}
          <tr className={classes.answer}>
            <td className={classes.number} />
            <td data-side="Recorded: answer">
              <Answer text={first?.recorded_answer} />
            </td>
            {sides.map(({ title, trajectory }) => (
              <td key={title} data-side={`${title}: answer`}>
                <Answer text={trajectory.answer} stopped={trajectory.stopped} />
                <span className={classes.under}>{spentInWords(totals(trajectory).answers)}</span>
              </td>
            ))}
          </tr>
        </tbody>
        <tfoot>
          <tr>
            <td className={classes.number} />
            <th>In all</th>
            {sides.map(({ title, trajectory }) => (
              <td key={title} data-side={`${title}: in all`}>
                {allInWords(totals(trajectory).all)}
              </td>
            ))}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

function OneStep({ row, sides }: { row: StepRow; sides: readonly Side[] }) {
  const diverges = sides.map(({ trajectory }) => row.step !== null && row.step === trajectory.first_divergence);
  return (
    <tr data-diverges={diverges.some(Boolean) || undefined}>
      <td className={classes.number}>{row.step ?? "+"}</td>
      <td data-side="Recorded">{row.recorded && <OneCall call={row.recorded} />}</td>
      {sides.map(({ title }, index) => (
        <td key={title} data-side={title} className={classes[row.cells[index]?.state ?? "same"]}>
          <OneCell cell={row.cells[index] ?? null} diverges={diverges[index] ?? false} />
        </td>
      ))}
    </tr>
  );
}

function OneCell({ cell, diverges }: { cell: AlignedCall | null; diverges: boolean }) {
  if (cell === null) return null;
  return (
    <>
      {cell.made && <OneCall call={cell.made} other={cell.state === "changed" ? cell.recorded : null} />}
      <span className={classes.under}>
        {diverges && <strong className={classes.divergence}>first divergence</strong>}
        {[WORDS[cell.state], cell.origin && ORIGINS[cell.origin], cell.spent && spentOf(cell.spent)]
          .filter(Boolean)
          .join(" · ")}
      </span>
    </>
  );
}

function Answer({ text, stopped }: { text: string | null | undefined; stopped?: string | null }) {
  if (stopped) return <em className={classes.under}>no answer: {stopped}</em>;
  if (!text) return <em className={classes.under}>no text</em>;
  return (
    <p className={classes.words} dir="auto">
      {text}
    </p>
  );
}

const SHOWN_CHARACTERS = 20_000;
const ARGUMENT_CHARACTERS = 300;

/** Name and arguments of a call, the changed ones marked; its result opens on request. */
function OneCall({ call, other }: { call: Call; other?: Call | null }) {
  const changed = changedArguments(call, other);
  const result = typeof call.result === "string" ? call.result : JSON.stringify(call.result ?? null, null, 2);
  return (
    <details className={classes.call}>
      <summary>
        <code dir="auto">
          {call.name}(
          {Object.entries(call.args ?? {}).map(([name, value], index) => (
            <span key={name}>
              {index > 0 && ", "}
              {changed.has(name) ? <mark>{argument(name, value)}</mark> : argument(name, value)}
            </span>
          ))}
          )
        </code>
      </summary>
      <pre className={classes.result} dir="auto">
        {call.result == null ? "no result" : result.slice(0, SHOWN_CHARACTERS)}
      </pre>
    </details>
  );
}

function argument(name: string, value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return `${name}: ${text.length > ARGUMENT_CHARACTERS ? `${text.slice(0, ARGUMENT_CHARACTERS)}…` : text}`;
}

/** One click that makes every failing replay of a run a case to review. */
export function FailingReplays({ runId }: { runId: string }) {
  const make = useFailingToReview(runId);
  if (make.data)
    return (
      <p className={classes.note} role="status">
        {make.data.cases === 0 ? (
          "No replay failed: each has an answer, and no metric is below 0.5."
        ) : (
          <>
            {plural(make.data.cases, "failing replay")} {make.data.cases === 1 ? "is a case" : "are cases"} to review:{" "}
            <Link to="/review" search={{ set: make.data.dataset }}>
              review {make.data.cases === 1 ? "it" : "them"}
            </Link>
          </>
        )}
      </p>
    );
  return (
    <>
      <Button
        variant="default"
        loading={make.isPending}
        onClick={() => make.mutate({ dataset: "failures", cases: [] })}
      >
        Make failing replays cases
      </Button>
      {make.isError && <p className={classes.problem}>{make.error.message}</p>}
    </>
  );
}
