/** What was thought of a trace: every score with whose it is, and a button that withdraws it. */
import { Button } from "@mantine/core";
import { useMay } from "@/api/access";
import { When } from "@/ui/Age";
import { unit } from "@/ui/format";
import { useRemoval } from "@/ui/forms";
import { Empty } from "@/ui/states";
import { visible } from "@/ui/text";
import type { Score } from "./data";
import classes from "./traces.module.css";
import { useTraceActions } from "./useTraceActions";

export const WHOSE: Record<string, string> = {
  system: "system",
  user: "user",
  human: "reviewer",
  llm_judge: "model judge",
};

export function Scores({ traceId, scores }: { traceId: string; scores: readonly Score[] }) {
  const actions = useTraceActions([traceId]);
  const { ref, removing } = useRemoval<HTMLDivElement>(scores.length, "tbody button", "button");
  return (
    <div ref={ref}>
      <ScoreTable
        scores={scores}
        busy={actions.busy}
        onWithdraw={(score) => {
          removing(scores.indexOf(score));
          actions.withdraw(score);
        }}
      />
      <p role="status" className="eg-dim">
        {actions.message}
        {actions.undo && (
          <Button size="compact-xs" variant="subtle" onClick={actions.undo}>
            Undo
          </Button>
        )}
      </p>
    </div>
  );
}

interface ScoreTableProps {
  scores: readonly Score[];
  busy: boolean;
  onWithdraw: (score: Score) => void;
}

function ScoreTable({ scores, busy, onWithdraw }: ScoreTableProps) {
  const mayWithdraw = useMay("editor");
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
          <th scope="col" className={classes.when}>
            When
          </th>
          {mayWithdraw && (
            <th>
              <span className="eg-visually-hidden">Withdraw</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {scores.map((score, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: equal scores may stand twice, and the list is never reordered
          <tr key={index}>
            <td>
              {visible(score.name)}
              {score.comment && (
                <div className={classes.comment} dir="auto">
                  {visible(score.comment)}
                </div>
              )}
            </td>
            <td>
              <Meter value={score.value} />
            </td>
            <td className={classes.whose}>{WHOSE[score.source ?? "system"]}</td>
            <td className={classes.when}>
              <When at={score.created_at} />
            </td>
            {mayWithdraw && (
              <td>
                <Button
                  size="compact-xs"
                  variant="subtle"
                  disabled={busy || score.id == null}
                  aria-label={`Withdraw ${visible(score.name)}`}
                  onClick={() => onWithdraw(score)}
                >
                  Withdraw
                </Button>
              </td>
            )}
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
