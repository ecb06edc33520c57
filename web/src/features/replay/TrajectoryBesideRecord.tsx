/** A replayed trajectory beside the recorded one: call by call, divergence marked, tokens and cost per request. */
import { Failed, Loading } from "@/ui/states";
import { type AlignedCall, useTrajectory } from "./data";
import classes from "./replay.module.css";

type Props = { runId: string; caseId: string; trial: number };
type Call = NonNullable<AlignedCall["made"]>;

const WORDS = { same: "same", changed: "other arguments", missing: "not called", extra: "not recorded here" } as const;
const ORIGINS: Record<string, string> = {
  near: "result recorded for nearly the same arguments",
  error: "not recorded: got a tool error",
  invented: "not recorded: result invented by a model",
  none: "not recorded: the replay stopped here",
};

export function TrajectoryBesideRecord({ runId, caseId, trial }: Props) {
  const trajectory = useTrajectory(runId, caseId, trial);
  if (trajectory.isPending) return <Loading what="trajectory" />;
  if (trajectory.isError) return <Failed error={trajectory.error} />;
  const { rows, first_divergence, why, stopped } = trajectory.data;
  return (
    <section aria-label="Trajectory beside the record">
      <h4>Trajectory</h4>
      <p className={classes.note}>
        {rows.length === 0 ? "No call was recorded and none was made." : (why ?? "The calls are the recorded ones.")}
        {stopped && ` Stopped: ${stopped}.`}
      </p>
      {rows.length > 0 && (
        <div className={classes.scroll}>
          <table className={classes.table}>
            <thead>
              <tr>
                <th>Step</th>
                <th>Recorded</th>
                <th>Replayed</th>
                <th>Compared</th>
                <th className={classes.number}>Tokens</th>
                <th className={classes.number}>Cost</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows stand in their order and never move
                <Row key={index} row={row} diverges={row.step !== null && row.step === first_divergence} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Row({ row, diverges }: { row: AlignedCall; diverges: boolean }) {
  const spent = row.spent;
  return (
    <tr className={classes[row.state]} data-diverges={diverges || undefined}>
      <td className={classes.number}>{row.step ?? ""}</td>
      <td>{row.recorded && <OneCall call={row.recorded} />}</td>
      <td>{row.made && <OneCall call={row.made} />}</td>
      <td>
        {WORDS[row.state]}
        {diverges && <strong className={classes.under}>first divergence</strong>}
        {row.origin && ORIGINS[row.origin] && <span className={classes.under}>{ORIGINS[row.origin]}</span>}
      </td>
      <td className={classes.number}>{spent ? (spent.input_tokens ?? 0) + (spent.output_tokens ?? 0) : ""}</td>
      <td className={classes.number}>{spent?.cost == null ? "" : `$${spent.cost.toFixed(4)}`}</td>
    </tr>
  );
}

/** Name and arguments of a call; its result opens on request. */
function OneCall({ call }: { call: Call }) {
  const result = typeof call.result === "string" ? call.result : JSON.stringify(call.result ?? null);
  return (
    <details>
      <summary>
        <code dir="auto">
          {call.name}({JSON.stringify(call.args ?? {})})
        </code>
      </summary>
      <pre className={classes.result} dir="auto">
        {call.result == null ? "no result" : result.slice(0, 20_000)}
      </pre>
    </details>
  );
}
