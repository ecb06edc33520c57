/** One case on the desk: its panel by kind, opinions, history, and the verdict bar. */
import { Button, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { useShortcuts } from "@/ui/shortcuts";
import type { Evidence } from "../evidence/rowEvidence";
import type { Entry } from "../validator/rows";
import { ConflictBanner } from "./ConflictBanner";
import { ContextPanel } from "./ContextPanel";
import { type Case, type CaseFile, type Saying, useCaseEvidence, useRefresh, type Verdict } from "./data";
import { EvidencePane } from "./EvidencePane";
import { History } from "./History";
import { Opinions } from "./Opinions";
import classes from "./queue.module.css";
import { TextFields } from "./TextFields";
import { useDraft } from "./useDraft";

type CaseDeskProps = { file: CaseFile; me: string; onDecided: (entry: Case, verdict: Verdict) => void };

export function CaseDesk({ file, me, onDecided }: CaseDeskProps) {
  const [lit, setLit] = useState<number | null>(null);
  const [shown, setShown] = useState<Entry | null>(null);
  const [comment, setComment] = useState("");
  const first = useRef<HTMLTextAreaElement>(null);
  const note = useRef<HTMLInputElement>(null);
  const refresh = useRefresh();
  const queries = useQueryClient();
  const { dataset, id } = file.case;
  const saved = useCallback(
    () => void queries.invalidateQueries({ queryKey: ["review", "case", dataset, id] }),
    [queries, dataset, id],
  );
  const draft = useDraft(file, saved);
  const evidence = useCaseEvidence({ dataset, id });
  const { entry } = draft;
  const missing = lacking(entry);

  async function say(saying: Saying) {
    const after = await draft.decide({ comment, ...saying });
    await refresh();
    if (after !== null) onDecided(after, saying.verdict);
  }
  const correct = () => void say({ verdict: "approve", changes: { entry_type: "correction" } });

  useShortcuts("This case", [
    { keys: "a", does: "Approve", run: () => void (missing.length === 0 && say({ verdict: "approve" })) },
    { keys: "d", does: "Dismiss", run: () => void say({ verdict: "dismiss" }) },
    { keys: "o", does: "Ask for a second opinion", run: () => void say({ verdict: "second_opinion" }) },
    { keys: "s", does: "Skip", run: () => void say({ verdict: "skip" }) },
    { keys: "e", does: "Edit the expected answer or query", run: () => first.current?.focus() },
    { keys: "m", does: "Write a comment", run: () => note.current?.focus() },
  ]);

  return (
    <>
      <section className={classes.desk} aria-label="Case">
        <div className={classes.fields}>
          <DeskHead entry={entry} state={draft.state} />
          {draft.conflict && <ConflictBanner conflict={draft.conflict} theirs={file.case} onResolve={draft.resolve} />}
          {draft.problem && (
            <p className={classes.problem} role="alert">
              {draft.problem}
            </p>
          )}
          <Opinions file={file} me={me} onSay={(saying) => void say(saying)} />
          {entry.kind === "context" ? (
            <ContextPanel
              entry={entry}
              evidence={evidence.data as Evidence | undefined}
              onEdit={draft.edit}
              onShow={setShown}
              firstRef={first}
            />
          ) : (
            <TextFields entry={entry} onEdit={draft.edit} onLight={setLit} firstRef={first} />
          )}
          <TextInput
            ref={note}
            label="Comment"
            placeholder="Why, for colleagues"
            value={comment}
            onChange={(event) => setComment(event.currentTarget.value)}
          />
          <History history={file.history} />
        </div>
        <footer className={classes.verdicts}>
          <Button
            disabled={missing.length > 0}
            aria-describedby="lacking"
            onClick={() => void say({ verdict: "approve" })}
          >
            {entry.kind === "chat" && entry.entry_type === "golden" ? "Confirm" : "Approve"}
          </Button>
          {entry.kind === "chat" && entry.entry_type !== "correction" && (
            <Button variant="default" disabled={!entry.expected?.trim()} onClick={correct}>
              Save as correction
            </Button>
          )}
          <Button variant="default" onClick={() => void say({ verdict: "dismiss" })}>
            Dismiss
          </Button>
          <Button variant="default" onClick={() => void say({ verdict: "second_opinion" })}>
            Second opinion
          </Button>
          {file.case.review === "validated" || file.case.status === "dismissed" ? (
            <Button variant="default" onClick={() => void say({ verdict: "reopen" })}>
              Reopen
            </Button>
          ) : (
            <Button variant="subtle" onClick={() => void say({ verdict: "skip" })}>
              Skip
            </Button>
          )}
          <span id="lacking" className={classes.lacking} aria-live="polite">
            {missing.length > 0 && `${missing.join(", ")} missing`}
          </span>
        </footer>
      </section>
      <EvidencePane entry={entry} lit={lit} shown={shown} onEdit={draft.edit} />
    </>
  );
}

function DeskHead({ entry, state }: { entry: Case; state: string }) {
  return (
    <header className={classes.head}>
      <h2>{entry.id}</h2>
      <p className={classes.source}>
        {entry.dataset} · {entry.kind} · {entry.entry_type} · {entry.review} · v{entry.version} ·{" "}
        <span role="status">{state}</span>
      </p>
    </header>
  );
}

/** The server's rule on what a kind needs, asked of the draft: the button must not wait for a save. */
function lacking(entry: Case): string[] {
  const blank = (value: unknown) =>
    typeof value === "string" ? value.trim() === "" : value == null || (Array.isArray(value) && value.length === 0);
  const needed: Record<Case["kind"], [string, unknown][]> = {
    chat: [
      ["question", entry.input],
      ["answer", blank(entry.expected) ? entry.output : entry.expected],
    ],
    context: [
      ["query", entry.input],
      ["base commit", entry.base_commit],
      ["paths", entry.paths],
    ],
    qa: [
      ["question", entry.input],
      ["answer", entry.expected],
    ],
    summary: [
      ["instruction", entry.input],
      ["summary", entry.expected],
    ],
    task: [
      ["name", entry.name],
      ["task", entry.input],
      ["expected output", entry.expected],
    ],
  };
  return needed[entry.kind].filter(([, value]) => blank(value)).map(([name]) => name);
}
