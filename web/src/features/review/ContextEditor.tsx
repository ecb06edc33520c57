/** The fields of a context case: query, base commit with what the repository says of it, and the two lists. */
import { Button, Group, List, Text, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type RefObject, useState } from "react";
import { useMe } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { Dialog } from "@/ui/forms";
import type { Content, Edit, Entry } from "./content";
import classes from "./desk.module.css";
import { EntryList } from "./EntryList";
import { type Change, changeOf, type Evidence } from "./Evidence";
import evidenceClasses from "./evidence.module.css";
import { rowA, rowB } from "./validator/rows";

type ContextEditorProps = {
  content: Content;
  evidence: Evidence | undefined;
  onEdit: (edit: Edit) => void;
  onShow: (entry: Entry) => void;
  queryRef: RefObject<HTMLTextAreaElement | null>;
  commitRef?: RefObject<HTMLInputElement | null>;
};

const SUGGESTED = 3;
const SUGGESTION_CHARACTERS = 240;

export function ContextEditor({ content, evidence, onEdit, onShow, queryRef, commitRef }: ContextEditorProps) {
  const commit = content.baseCommit.trim();
  const change = changeOf(evidence);
  const set = (field: "query" | "baseCommit", value: string) => onEdit({ type: "setField", field, value });
  const lists = { onEdit, onShow };
  return (
    <>
      <div>
        <Textarea
          ref={queryRef}
          label="Query"
          description="What the task asked for"
          dir="auto"
          autosize
          minRows={2}
          maxRows={8}
          value={content.query}
          error={content.query.trim() === "" ? "needed" : undefined}
          onChange={(event) => set("query", event.currentTarget.value)}
        />
        <Suggestions
          word="Use: "
          texts={evidence?.suggested_queries}
          chosen={content.query}
          onChoose={(text) => set("query", text)}
        />
      </div>
      <div>
        <TextInput
          ref={commitRef}
          label="Base commit"
          description="The commit the work started from"
          spellCheck={false}
          value={content.baseCommit}
          error={commit === "" ? "needed" : undefined}
          onChange={(event) => set("baseCommit", event.currentTarget.value)}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        />
        <BaseCommitCheck commit={commit} change={change} content={content} />
        <BaseCandidates change={change} chosen={commit} onChoose={(candidate) => set("baseCommit", candidate)} />
        <Suggestions
          word="Use "
          texts={evidence?.suggested_commits}
          chosen={content.baseCommit}
          onChoose={(text) => set("baseCommit", text)}
        />
      </div>
      <EntryList {...lists} list="filePaths" entries={content.filePaths} />
      <EntryList {...lists} list="lineRanges" entries={content.lineRanges} />
    </>
  );
}

type SuggestionsProps = {
  word: string;
  texts: readonly string[] | undefined;
  chosen: string;
  onChoose: (text: string) => void;
};

function Suggestions({ word, texts = [], chosen, onChoose }: SuggestionsProps) {
  const others = texts.filter((text) => text !== chosen).slice(0, SUGGESTED);
  return others.map((text) => (
    <button key={text} type="button" className={classes.suggestion} onClick={() => onChoose(text)}>
      {word}
      {text.length > SUGGESTION_CHARACTERS ? `${text.slice(0, SUGGESTION_CHARACTERS)}…` : text}
    </button>
  ));
}

function keyOf({ diff, earlier_diff }: Change) {
  return [diff?.length ?? 0, diff?.slice(0, 2000), earlier_diff?.length ?? 0];
}

type BaseCommitCheckProps = { commit: string; change: Change; content: Content };

/** Whether saving will accept the commit: the change and the golden lines prove there; silent without a repository. */
function BaseCommitCheck({ commit, change, content }: BaseCommitCheckProps) {
  const me = useMe();
  const [settled] = useDebouncedValue(commit, 300);
  const rows = { a: rowA(content), b: rowB(content) };
  const check = useQuery({
    queryKey: ["review", "base", settled, ...keyOf(change), JSON.stringify(content.lineRanges)],
    enabled: me.data?.repository === true && settled.length >= 4,
    staleTime: 60_000,
    queryFn: () => unwrap(api.POST("/api/v1/review/base", { body: { commit: settled, ...change, ...rows } })),
  });
  if (check.data === undefined) return null;
  const bad = !check.data.exists || check.data.applies === false;
  return (
    <p className={evidenceClasses.check} data-bad={bad || undefined} role="status">
      {bad ? "✗ " : "✓ "}
      {check.data.message}
    </p>
  );
}

type BaseCandidatesProps = { change: Change; chosen: string; onChoose: (commit: string) => void };

/** Commits at which the change proves, with what speaks for each. */
function BaseCandidates({ change, chosen, onChoose }: BaseCandidatesProps) {
  const me = useMe();
  const ranked = useQuery({
    queryKey: ["review", "candidates", ...keyOf(change)],
    enabled: me.data?.repository === true && Boolean(change.diff),
    staleTime: 60_000,
    queryFn: () => unwrap(api.POST("/api/v1/review/base/candidates", { body: change })),
  });
  const others = (ranked.data ?? []).filter((candidate) => candidate.commit !== chosen).slice(0, 5);
  if (others.length === 0) return null;
  return (
    <ul className={evidenceClasses.candidates} aria-label="Likely base commits">
      {others.map((candidate) => (
        <li key={candidate.commit}>
          <button type="button" onClick={() => onChoose(candidate.commit)}>
            <code>{candidate.commit.slice(0, 12)}</code> {candidate.subject}
          </button>
          <span>
            proved
            {candidate.evidence.length > 0 && ` · ${candidate.evidence.join(", ")}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

type OverrideDialogProps = { problems: string[]; onCancel: () => void; onOverride: (why: string) => void };

/** Asks before a case is validated against what the repository says; the reason stays in the exported rows. */
export function OverrideDialog({ problems, onCancel, onOverride }: OverrideDialogProps) {
  const [why, setWhy] = useState("");
  return (
    <Dialog onClose={onCancel} title="The repository disproves this base commit" centered>
      <List size="sm" mb="sm">
        {problems.slice(0, 6).map((problem) => (
          <List.Item key={problem}>{problem}</List.Item>
        ))}
      </List>
      <Text size="sm" mb="xs">
        Choose another commit, or validate the case all the same and say why. The reason is exported with the rows.
      </Text>
      <Textarea
        label="Why it is right all the same"
        autosize
        minRows={2}
        value={why}
        onChange={(event) => setWhy(event.currentTarget.value)}
      />
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onCancel}>
          Back
        </Button>
        <Button color="rust" disabled={why.trim() === ""} onClick={() => onOverride(why.trim())}>
          Validate anyway
        </Button>
      </Group>
    </Dialog>
  );
}
