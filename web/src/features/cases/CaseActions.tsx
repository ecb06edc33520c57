/** What one can do with a case: edit it, take the edit back, review it, and go to the traces and runs it belongs to. */
import { Alert, Button, Group, TagsInput, Text, Textarea } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { Assertions } from "@/ui/Assertions";
import { Dialog, useKept } from "@/ui/forms";
import { useShortcuts } from "@/ui/shortcuts";
import { TextBlock } from "@/ui/TextBlock";
import type { Case } from "./data";
import { changedFields, type Draft, draftOf, type EditedField, LABEL, useCaseEdit } from "./edits";

export function CaseActions({ entry }: { entry: Case }) {
  const mayReview = useMay("reviewer");
  const [editing, setEditing] = useState(false);
  const [before, setBefore] = useState<Case | null>(null);
  const undo = useCaseEdit(() => setBefore(null));
  useShortcuts("This case", mayReview ? [{ keys: "e", does: "Edit", run: () => setEditing(true) }] : []);
  return (
    <Group gap={8} mb="md">
      {mayReview && (
        <Button size="compact-sm" variant="default" onClick={() => setEditing(true)}>
          Edit…
        </Button>
      )}
      {entry.provenance.trace_id && (
        <Button
          size="compact-sm"
          variant="default"
          renderRoot={(props) => (
            <Link to="/traces/$traceId" params={{ traceId: entry.provenance.trace_id ?? "" }} {...props} />
          )}
        >
          Open its trace
        </Button>
      )}
      <Button
        size="compact-sm"
        variant="default"
        renderRoot={(props) => <Link to="/review" search={{ dataset: entry.dataset, id: entry.id }} {...props} />}
      >
        Review it
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        renderRoot={(props) => <Link to="/benchmarks" search={{ q: entry.dataset }} {...props} />}
      >
        Runs of its dataset
      </Button>
      {(entry.messages?.length ?? 0) > 0 && (
        <Button
          size="compact-sm"
          variant="default"
          renderRoot={(props) => (
            <Link to="/replay/$dataset/$caseId" params={{ dataset: entry.dataset, caseId: entry.id }} {...props} />
          )}
        >
          Open in replay
        </Button>
      )}
      <output>
        {undo.problem || (before && "Saved.")}{" "}
        {before && (
          <Button
            size="compact-sm"
            variant="subtle"
            loading={undo.busy}
            onClick={() => undo.save(entry, draftOf(before), changedFields(draftOf(entry), draftOf(before)))}
          >
            Undo
          </Button>
        )}
      </output>
      {editing && (
        <CaseEditor
          entry={entry}
          onClose={() => setEditing(false)}
          onSaved={(old) => {
            setEditing(false);
            setBefore(old);
          }}
        />
      )}
    </Group>
  );
}

/** What somebody wrote, with the case as it was when they began. */
type Seen = { base: Case; draft: Draft };
type CaseEditorProps = { entry: Case; onClose: () => void; onSaved: (before: Case, after: Case) => void };

/**
 * Change a case in place. Only changed fields are sent, on the version that was seen: where somebody else was first, their
 * text is shown beside this one and nothing of either is lost. A form that could not be sent keeps what was typed.
 */
function CaseEditor({ entry, onClose, onSaved }: CaseEditorProps) {
  const seen = { base: entry, draft: draftOf(entry) };
  const [{ base, draft }, keep, forgetDraft] = useKept<Seen>(`case ${entry.dataset}/${entry.id}`, seen);
  const setDraft = (next: Draft) => keep({ base, draft: next });
  const edit = useCaseEdit((before, after) => {
    forgetDraft();
    onSaved(before, after);
  });
  // Somebody else's change is shown when it is known, not only when a save was refused.
  const theirs = edit.theirs ?? (entry.version > base.version && !edit.busy ? entry : null);
  function cancel() {
    forgetDraft();
    onClose();
  }
  const mine = changedFields(draftOf(base), draft);
  const field = (name: "input" | "output" | "expected", rows: number) => (
    <Textarea
      label={LABEL[name]}
      autosize
      minRows={rows}
      maxRows={12}
      dir="auto"
      mt="sm"
      value={draft[name]}
      onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
    />
  );
  return (
    <Dialog onClose={cancel} closeOnClickOutside={false} title="Edit this case" size="lg">
      {field("input", 2)}
      {field("output", 2)}
      {field("expected", 3)}
      <TagsInput
        mt="sm"
        label="Tags"
        value={draft.tags}
        onChange={(tags) => setDraft({ ...draft, tags })}
        clearButtonProps={{ "aria-label": "Remove all tags" }}
      />
      <Assertions
        of={entry}
        assertions={draft.assertions}
        onChange={(assertions) => setDraft({ ...draft, assertions })}
      />
      {theirs && <Conflict base={base} theirs={theirs} mine={mine} />}
      {edit.problem && !theirs && (
        <Text c="rust" size="sm" mt="sm" role="alert">
          {edit.problem}
        </Text>
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={cancel}>
          Cancel
        </Button>
        {theirs && (
          <Button
            variant="default"
            onClick={() => {
              keep({ base: theirs, draft: draftOf(theirs) });
              edit.settle();
            }}
          >
            Take theirs
          </Button>
        )}
        <Button disabled={mine.length === 0} loading={edit.busy} onClick={() => edit.save(theirs ?? base, draft, mine)}>
          {theirs ? "Save mine" : "Save"}
        </Button>
      </Group>
    </Dialog>
  );
}

const textOf = (value: Draft[EditedField]) =>
  typeof value === "string"
    ? value
    : value.map((one) => (typeof one === "string" ? one : Object.entries(one).flat().join(": "))).join(", ");

type ConflictProps = { base: Case; theirs: Case; mine: readonly EditedField[] };

function Conflict({ base, theirs, mine }: ConflictProps) {
  const changed = changedFields(draftOf(base), draftOf(theirs));
  const both = changed.filter((name) => mine.includes(name));
  return (
    <Alert mt="md" color="rust" title="Somebody changed this case meanwhile">
      <Text size="sm" mb="xs">
        {both.length === 0
          ? "They changed other fields than you: both changes are kept when you save."
          : "Save yours to replace theirs, or take theirs. Both stay in the history."}
      </Text>
      {changed.map((name) => (
        <TextBlock key={name} label={`${LABEL[name]}, as they left it`} text={textOf(draftOf(theirs)[name])} />
      ))}
    </Alert>
  );
}
