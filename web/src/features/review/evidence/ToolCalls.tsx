/** What the agent asked for and what it got; results open on demand, because they run to thousands of lines. */
import classes from "./evidence.module.css";
import type { Evidence } from "./rowEvidence";

const LONG = 20_000;

export function ToolCalls({ calls }: { calls: Evidence["tool_calls"] }) {
  if (calls.length === 0) return <p className={classes.none}>No context tool was called.</p>;
  return (
    <ol className={classes.calls}>
      {calls.map((call) => (
        <li key={call.id}>
          <details>
            <summary>
              <code>{call.name}</code>{" "}
              <span className={classes.arguments}>{JSON.stringify(call.arguments).slice(0, 200)}</span>
              {call.failed && <b> failed</b>}
            </summary>
            <h4>Arguments</h4>
            <pre>{JSON.stringify(call.arguments, null, 2)}</pre>
            <h4>Result</h4>
            <pre>{clipped(call.result)}</pre>
          </details>
        </li>
      ))}
    </ol>
  );
}

function clipped(text: string | null | undefined): string {
  if (!text) return "(nothing)";
  return text.length > LONG ? `${text.slice(0, LONG)}\n… ${text.length - LONG} more characters` : text;
}
