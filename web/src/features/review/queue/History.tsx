/** Who did what and when, newest first; each revision opens to what it changed. */
import { age } from "@/ui/format";
import type { CaseFile } from "./data";
import sheet from "./history.module.css";
import classes from "./list.module.css";

type Entry = CaseFile["history"][number];

const said = (value: unknown) =>
  value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value, null, 1);

export function History({ history }: { history: CaseFile["history"] }) {
  return (
    <details className={sheet.history}>
      <summary>History ({history.length})</summary>
      <ol>
        {[...history].reverse().map((entry) => (
          <li key={`${entry.version} ${entry.who} ${entry.what} ${entry.at}`}>
            <b>{entry.who}</b> {entry.what.replace("_", " ")}{" "}
            <span className={classes.source}>
              v{entry.version} · {age(entry.at)}
            </span>
            {entry.why && <p>{entry.why}</p>}
            <Difference changes={entry.changes} />
          </li>
        ))}
      </ol>
    </details>
  );
}

export function Difference({ changes }: { changes: Entry["changes"] }) {
  const fields = Object.entries(changes as Record<string, { old?: unknown; new?: unknown }>);
  if (fields.length === 0) return null;
  return (
    <dl className={sheet.difference}>
      {fields.map(([name, change]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <del>{said(change.old)}</del>
            <ins>{said(change.new)}</ins>
          </dd>
        </div>
      ))}
    </dl>
  );
}
