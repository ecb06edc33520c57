/** What was thought of a trace: every score with whose it is. */
import { age, unit } from "@/ui/format";
import { Empty } from "@/ui/states";
import type { Score } from "./data";
import classes from "./traces.module.css";

export const WHOSE: Record<string, string> = {
  system: "system",
  user: "user",
  human: "reviewer",
  llm_judge: "model judge",
};

export function Scores({ scores }: { scores: readonly Score[] }) {
  if (scores.length === 0) {
    return (
      <Empty title="No scores">
        A trace without scores stays out of the dataset. Scores may still come, days later.
      </Empty>
    );
  }
  return (
    <table className={classes.scores}>
      <thead>
        <tr>
          <th scope="col">Score</th>
          <th scope="col">Value</th>
          <th scope="col">Whose</th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody>
        {scores.map((score, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: equal scores may stand twice, and the list is never reordered
          <tr key={index}>
            <td>
              {score.name}
              {score.comment && <div className={classes.comment}>{score.comment}</div>}
            </td>
            <td>
              <Meter value={score.value} />
            </td>
            <td>{WHOSE[score.source ?? "system"]}</td>
            <td className="eg-dim">{age(score.created_at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Meter({ value }: { value: number }) {
  const level = value < 0.3 ? "low" : value < 0.8 ? "middle" : "high";
  return (
    <span className={classes.meter} data-level={level}>
      <span className={classes.meterTrack}>
        <span className={classes.meterFill} style={{ width: `${value * 100}%` }} />
      </span>
      {unit(value)}
    </span>
  );
}
