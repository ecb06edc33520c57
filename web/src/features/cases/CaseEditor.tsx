/**
 * Change a case in place. Only changed fields are sent, on the version that was seen: where somebody else was first, their
 * text is shown beside this one and nothing of either is lost. A form that could not be sent keeps what was typed.
 */
import { Alert, Button, Group, Modal, TagsInput, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { TextBlock } from "@/ui/TextBlock";
import type { Case } from "./data";
import { changedFields, type Draft, draftOf, type EditedField, LABEL } from "./edits";
import { useCaseEdit } from "./useCaseEdit";

type CaseEditorProps = { entry: Case; onClose: () => void; onSaved: (before: Case, after: Case) => void };

export function CaseEditor({ entry, onClose, onSaved }: CaseEditorProps) {
  const [base, setBase] = useState(entry);
  const [draft, setDraft] = useState<Draft>(() => draftOf(entry));
  const edit = useCaseEdit(onSaved);
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
    <Modal opened onClose={onClose} title="Edit this case" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
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
      {edit.theirs && <Conflict base={base} theirs={edit.theirs} mine={mine} />}
      {edit.problem && !edit.theirs && (
        <Text c="rust" size="sm" mt="sm" role="alert">
          {edit.problem}
        </Text>
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        {edit.theirs && (
          <Button
            variant="default"
            onClick={() => {
              if (!edit.theirs) return;
              setBase(edit.theirs);
              setDraft(draftOf(edit.theirs));
              edit.settle();
            }}
          >
            Take theirs
          </Button>
        )}
        <Button
          disabled={mine.length === 0}
          loading={edit.busy}
          onClick={() => edit.save(edit.theirs ?? base, draft, mine)}
        >
          {edit.theirs ? "Save mine" : "Save"}
        </Button>
      </Group>
    </Modal>
  );
}

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
        <TextBlock key={name} label={`${LABEL[name]}, as they left it`} text={String(draftOf(theirs)[name])} />
      ))}
    </Alert>
  );
}
