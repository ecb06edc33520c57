/** Name and arguments of a call, the changed ones marked; its result opens on request. */
import type { Call } from "./data";
import classes from "./replay.module.css";
import { changedArguments } from "./steps";

const SHOWN_CHARACTERS = 20_000;
const ARGUMENT_CHARACTERS = 300;

export function OneCall({ call, other }: { call: Call; other?: Call | null }) {
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
