/** A context case in the queue: the validator's lists, on a case of the store. */
import { Textarea, TextInput } from "@mantine/core";
import type { RefObject } from "react";
import { BaseCommitCheck } from "../evidence/BaseCommitCheck";
import type { Evidence } from "../evidence/rowEvidence";
import { EntryList } from "../validator/EntryList";
import type { Entry } from "../validator/rows";
import { type Action, reduce } from "../validator/session";
import { changesOf, contentOf, sessionOf } from "./contextCase";
import type { Case, Changes } from "./data";

type ContextPanelProps = {
  entry: Case;
  evidence: Evidence | undefined;
  onEdit: (changes: Changes) => void;
  onShow: (entry: Entry) => void;
  firstRef: RefObject<HTMLTextAreaElement | null>;
};

/** The editor's actions, answered with changes of a case instead of a session. */
export function contextDispatch(entry: Case, onEdit: (changes: Changes) => void) {
  const content = contentOf(entry);
  return (action: Action) => {
    const after = reduce(sessionOf(content), action).cases[entry.id]?.content ?? content;
    const changes = changesOf(content, after);
    if (Object.keys(changes).length > 0) onEdit(changes);
  };
}

export function ContextPanel({ entry, evidence, onEdit, onShow, firstRef }: ContextPanelProps) {
  const content = contentOf(entry);
  const dispatch = contextDispatch(entry, onEdit);
  const lists = { caseKey: entry.id, dispatch, onShow };
  return (
    <>
      <Textarea
        ref={firstRef}
        label="Query"
        description="What the task asked for"
        autosize
        minRows={2}
        maxRows={8}
        value={entry.input}
        onChange={(event) => onEdit({ input: event.currentTarget.value })}
      />
      <div>
        <TextInput
          label="Base commit"
          description="The commit the work started from"
          spellCheck={false}
          value={entry.base_commit ?? ""}
          onChange={(event) => onEdit({ base_commit: event.currentTarget.value })}
        />
        <BaseCommitCheck commit={(entry.base_commit ?? "").trim()} diff={evidence?.diff ?? null} />
      </div>
      <EntryList {...lists} list="filePaths" entries={content.filePaths} />
      <EntryList {...lists} list="lineRanges" entries={content.lineRanges} />
    </>
  );
}
