/** A page of attempts with their measurements; the server gives errors and the lowest values first, which one looks for. */
import { duration } from "@/ui/format";
import type { Asked, Attempt } from "./data";
import classes from "./tables.module.css";
import { decimals } from "./words";

const SHOWN = 300;

type AttemptTableProps = {
  attempts: readonly Attempt[];
  asked: Record<string, Asked>;
  metrics: readonly string[];
  open: (caseId: string) => void;
};

export function AttemptTable({ attempts, asked, metrics, open }: AttemptTableProps) {
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
