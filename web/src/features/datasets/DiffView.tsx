/** Added, removed, moved and changed cases; a changed one field by field. Long lists show their beginning. */
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { count } from "@/ui/format";
import { type Diff, useCase } from "./data";
import classes from "./datasets.module.css";

const SHOWN = 20;
const LONGEST = 160;
const NAMES = ["added", "removed", "changed", "moved", "unchanged"] as const;

/** `stored`: whether the cases are in the store, and so have pages of their own; those of a RAG build are in its files only. */
export function DiffView({ dataset, diff, stored }: { dataset: string; diff: Diff; stored: boolean }) {
  const same = diff.counts.added + diff.counts.removed + diff.counts.changed + diff.counts.moved === 0;
  const link = (id: string) =>
    stored ? (
      <Link to="/cases/$dataset/$caseId" params={{ dataset, caseId: id }} search={{ dataset }}>
        <CaseName dataset={dataset} id={id} />
      </Link>
    ) : (
      <code>{id}</code>
    );
  return (
    <>
      <dl className={classes.counts}>
        {NAMES.map((name) => (
          <div key={name} data-name={name}>
            <dt>{name}</dt>
            <dd>{count(diff.counts[name])}</dd>
          </div>
        ))}
      </dl>
      {same && <p className={classes.calm}>Both versions hold the same cases.</p>}
      <Group title="Changed" ids={Object.keys(diff.changed)}>
        {(id) => (
          <>
            {link(id)}
            {(diff.changed[id] ?? []).map((change) => (
              <div key={change.field} className={classes.change}>
                <span className={classes.field}>{change.field}</span>
                <del>{shown(change.before)}</del>
                <ins>{shown(change.after)}</ins>
              </div>
            ))}
          </>
        )}
      </Group>
      <Group title="Added" ids={diff.added}>
        {link}
      </Group>
      <Group title="Removed" ids={diff.removed}>
        {link}
      </Group>
      <Group title="Moved to another split" ids={Object.keys(diff.moved)}>
        {(id) => (
          <>
            {link(id)}{" "}
            <span className="eg-dim">
              {diff.moved[id]?.from} → {diff.moved[id]?.to}
            </span>
          </>
        )}
      </Group>
    </>
  );
}

/** The question of a case; its id while that is not known, or where the case is gone. */
function CaseName({ dataset, id }: { dataset: string; id: string }) {
  const held = useCase(dataset, id);
  return (
    <span dir="auto" title={id}>
      {held.data?.name || held.data?.input.slice(0, LONGEST) || id}
    </span>
  );
}

function Group({ title, ids, children }: { title: string; ids: string[]; children: (id: string) => ReactNode }) {
  const [limit, setLimit] = useState(SHOWN);
  if (ids.length === 0) return null;
  return (
    <section className={classes.group}>
      <h3>{title}</h3>
      <ul className={classes.plain} aria-label={title}>
        {ids.slice(0, limit).map((id) => (
          <li key={id}>{children(id)}</li>
        ))}
      </ul>
      {ids.length > limit && (
        <Button variant="default" size="xs" onClick={() => setLimit(limit + 10 * SHOWN)}>
          Show more of the {count(ids.length)}
        </Button>
      )}
    </section>
  );
}

/** A value as text; the server writes "..." for a field that was not there. */
function shown(value: unknown): string {
  if (value === "...") return "(not there)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
