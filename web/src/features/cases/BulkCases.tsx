/** What one can do with the chosen cases at once: tag, move, dismiss, merge; each can be taken back. */
import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { plural } from "@/ui/format";
import classes from "./cases.module.css";
import { type Key, useCaseChanges } from "./useCaseChanges";

type BulkCasesProps = { cases: readonly Key[]; onClear: () => void };

export function BulkCases({ cases, onClear }: BulkCasesProps) {
  const changes = useCaseChanges();
  const small = { size: "compact-sm", variant: "default", disabled: changes.busy || cases.length === 0 } as const;
  return (
    <section className={classes.bulk} aria-label="Chosen cases">
      <strong>{plural(cases.length, "case")} chosen</strong>
      <Entry label="Tag" onEnter={(tag) => changes.change(cases, { addTags: [tag] })} disabled={small.disabled} />
      <Entry
        label="Move to dataset"
        onEnter={(dataset) => changes.change(cases, { dataset })}
        disabled={small.disabled}
      />
      <Button {...small} onClick={() => void changes.change(cases, { status: "dismissed" })}>
        Dismiss
      </Button>
      <Button
        {...small}
        disabled={small.disabled || cases.length < 2}
        title="The first of them in the list stays and gets the tags of the others, which are dismissed"
        onClick={() => void changes.merge(cases)}
      >
        Merge repeats
      </Button>
      <Button size="compact-sm" variant="subtle" onClick={onClear}>
        Choose none
      </Button>
      <output>
        {changes.message}{" "}
        {changes.undoable && (
          <Button size="compact-sm" variant="subtle" loading={changes.busy} onClick={() => void changes.undo()}>
            Undo
          </Button>
        )}
      </output>
    </section>
  );
}

type EntryProps = { label: string; disabled: boolean; onEnter: (value: string) => Promise<boolean> };

function Entry({ label, disabled, onEnter }: EntryProps) {
  const [value, setValue] = useState("");
  async function enter() {
    if (value.trim() && (await onEnter(value.trim()))) setValue("");
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void enter();
      }}
    >
      <TextInput
        size="xs"
        w={150}
        aria-label={label}
        placeholder={`${label}…`}
        disabled={disabled}
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
    </form>
  );
}
