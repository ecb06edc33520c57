/** What an answer must and must not do, as rows of sentences; what comments of reviewers ask for is offered. */
import { Button, CloseButton, Group, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas, unwrap } from "@/api/client";
import classes from "./Assertions.module.css";
import { visible } from "./text";

type Stored = Schemas["Case"]["assertions"];
type Kind = "must" | "must_not";
type Row = { kind: Kind; text: string };
const LABEL: Record<Kind, string> = { must: "must", must_not: "must not" };

const rowsOf = (stored: Stored): Row[] =>
  stored.flatMap((one) => Object.entries(one).map(([kind, text]) => ({ kind: kind as Kind, text })));

const storedRows = (rows: readonly Row[]): Stored =>
  rows.filter(({ text }) => text.trim() !== "").map(({ kind, text }) => ({ [kind]: text }));

type AssertionsProps = {
  of: { dataset: string; id: string; version: number };
  assertions: Stored;
  onChange: (assertions: Stored) => void;
};

export function Assertions({ of, assertions, onChange }: AssertionsProps) {
  const [typed, setTyped] = useState<Row[]>([]);
  // A row without a sentence is not stored: it is here alone.
  const same = JSON.stringify(storedRows(typed)) === JSON.stringify(assertions);
  const rows = same ? typed : rowsOf(assertions);
  const { data: asked } = useQuery({
    queryKey: ["review", "assertions", of.dataset, of.id, of.version],
    queryFn: () =>
      unwrap(api.GET("/api/v1/review/assertions", { params: { query: { dataset: of.dataset, id: of.id } } })),
  });
  const drafts = rowsOf(asked ?? []).filter(
    (draft) => !rows.some(({ kind, text }) => kind === draft.kind && text === draft.text),
  );
  function store(next: Row[]) {
    setTyped(next);
    onChange(storedRows(next));
  }

  return (
    <section className={classes.assertions} aria-label="Assertions">
      <h3>What an answer must and must not do</h3>
      {rows.map((row, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an assertion is its place while it is written
        <div key={at} className={classes.row}>
          <NativeSelect
            size="xs"
            aria-label={`Kind of assertion ${at + 1}`}
            data={Object.entries(LABEL).map(([value, label]) => ({ value, label }))}
            value={row.kind}
            onChange={(event) => store(rows.with(at, { ...row, kind: event.currentTarget.value as Kind }))}
          />
          <TextInput
            size="xs"
            dir="auto"
            aria-label={`Assertion ${at + 1}`}
            placeholder="names the deadline"
            value={row.text}
            onChange={(event) => store(rows.with(at, { ...row, text: event.currentTarget.value }))}
          />
          <CloseButton
            size="sm"
            aria-label={`Remove assertion ${at + 1}`}
            onClick={() => store(rows.filter((_, place) => place !== at))}
          />
        </div>
      ))}
      <Group gap="xs">
        <Button size="compact-xs" variant="subtle" onClick={() => setTyped([...rows, { kind: "must", text: "" }])}>
          Add an assertion
        </Button>
        {drafts.map((draft) => (
          <Button
            key={`${draft.kind} ${draft.text}`}
            size="compact-xs"
            variant="default"
            onClick={() => store([...rows, draft])}
          >
            From a comment: {LABEL[draft.kind]}: {visible(draft.text)}
          </Button>
        ))}
      </Group>
    </section>
  );
}

/** The assertions of a case, to be read. */
export function AssertionList({ assertions }: { assertions: Stored }) {
  return (
    <ul className={classes.list}>
      {rowsOf(assertions).map(({ kind, text }) => (
        <li key={`${kind} ${text}`} dir="auto">
          <b>{LABEL[kind]}</b>: {visible(text)}
        </li>
      ))}
    </ul>
  );
}
