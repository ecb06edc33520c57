/** Recorded calls and those of one or two replays, aligned step by step: divergence marked, tokens and cost per request. */
import type { AlignedCall, AlignedTrajectory } from "./data";
import { OneCall } from "./OneCall";
import classes from "./replay.module.css";
import { allInWords, type StepRow, spentInWords, spentOf, stepRows, totals } from "./steps";

export type Side = { title: string; trajectory: AlignedTrajectory };

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

export function StepTable({ sides }: { sides: readonly Side[] }) {
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
