/** One case: query, base commit, the two lists, and the verdict with the reason why it cannot be given yet. */
import { Button, Textarea, TextInput } from "@mantine/core";
import type { Dispatch, RefObject } from "react";
import type { Schemas } from "@/api/client";
import { BaseCandidates } from "../evidence/BaseCandidates";
import { BaseCommitCheck } from "../evidence/BaseCommitCheck";
import { EntryList } from "./EntryList";
import classes from "./editor.module.css";
import { statusOf } from "./navigation";
import pageClasses from "./page.module.css";
import { type Entry, lacks } from "./rows";
import { StatusMark } from "./StatusMark";
import type { Action, CaseState } from "./session";

type CaseEditorProps = {
  caseKey: string;
  state: CaseState;
  dispatch: Dispatch<Action>;
  evidence: Schemas["Evidence"] | undefined;
  queryRef: RefObject<HTMLTextAreaElement | null>;
  commitRef: RefObject<HTMLInputElement | null>;
  onValidate: () => void;
  onShow: (entry: Entry) => void;
};

export function CaseEditor(props: CaseEditorProps) {
  const { caseKey, state, dispatch, evidence, queryRef, commitRef, onShow } = props;
  const { content } = state;
  const { identity } = content;
  const queries = (evidence?.suggested_queries ?? []).filter((text) => text !== content.query).slice(0, 3);
  const commits = (evidence?.suggested_commits ?? []).filter((text) => text !== content.baseCommit).slice(0, 3);
  const set = (field: "query" | "baseCommit", value: string) =>
    dispatch({ type: "setField", key: caseKey, field, value });
  return (
    <section className={classes.editor} aria-label="Case">
      <div className={classes.fields}>
        <div className={classes.heading}>
          <h2>
            <StatusMark status={statusOf(state)} /> {identity.caseId}
          </h2>
          <p className={pageClasses.dim}>
            task {identity.taskId || "–"} · flow {identity.flowId || "–"} · case {identity.caseIndex} · workspace{" "}
            {identity.workspaceId || "–"}
          </p>
        </div>
        <div>
          <Textarea
            ref={queryRef}
            label="Query"
            description="What the task asked for"
            autosize
            minRows={2}
            maxRows={8}
            value={content.query}
            error={content.query.trim() === "" ? "needed" : undefined}
            onChange={(event) => set("query", event.currentTarget.value)}
          />
          {queries.map((text) => (
            <button key={text} type="button" className={classes.suggestion} onClick={() => set("query", text)}>
              Use: {text.length > 240 ? `${text.slice(0, 240)}…` : text}
            </button>
          ))}
        </div>
        <div>
          <TextInput
            ref={commitRef}
            label="Base commit"
            description="The commit the work started from"
            spellCheck={false}
            value={content.baseCommit}
            error={content.baseCommit.trim() === "" ? "needed" : undefined}
            onChange={(event) => set("baseCommit", event.currentTarget.value)}
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          />
          <BaseCommitCheck commit={content.baseCommit.trim()} diff={evidence?.diff ?? null} />
          <BaseCandidates
            diff={evidence?.diff ?? null}
            chosen={content.baseCommit.trim()}
            onChoose={(commit) => set("baseCommit", commit)}
          />
          {commits.map((text) => (
            <button key={text} type="button" className={classes.suggestion} onClick={() => set("baseCommit", text)}>
              Use {text}
            </button>
          ))}
        </div>
        <EntryList caseKey={caseKey} list="filePaths" entries={content.filePaths} dispatch={dispatch} onShow={onShow} />
        <EntryList
          caseKey={caseKey}
          list="lineRanges"
          entries={content.lineRanges}
          dispatch={dispatch}
          onShow={onShow}
        />
      </div>
      <VerdictBar {...props} />
    </section>
  );
}

function VerdictBar({ caseKey, state, dispatch, onValidate }: CaseEditorProps) {
  const missing = lacks(state.content);
  const edited = state.content !== state.imported;
  return (
    <footer className={classes.verdict}>
      {state.validated ? (
        <Button variant="default" onClick={() => dispatch({ type: "unvalidate", keys: [caseKey] })}>
          Reopen
        </Button>
      ) : (
        <Button disabled={missing.length > 0} aria-describedby="why-not" onClick={onValidate}>
          Mark as validated
        </Button>
      )}
      <span id="why-not" className={classes.why} aria-live="polite">
        {state.validated
          ? "Validated. An edit makes it unvalidated again."
          : missing.length > 0
            ? missing.slice(0, 3).join("; ") + (missing.length > 3 ? `; and ${missing.length - 3} more` : "")
            : "Complete."}
      </span>
      <Button variant="subtle" disabled={!edited} onClick={() => dispatch({ type: "reset", key: caseKey })}>
        Reset
      </Button>
    </footer>
  );
}
