/** One case on the desk: its panel by kind, opinions, questions, history, and the verdict bar. */
import { TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { NeedsLook } from "@/ui/cases";
import { useShortcuts } from "@/ui/shortcuts";
import type { Evidence } from "../evidence/rowEvidence";
import { Questions, unanswered } from "../questions/Questions";
import { OverrideDialog } from "../validator/OverrideDialog";
import type { Entry } from "../validator/rows";
import { ConflictBanner } from "./ConflictBanner";
import { ContextPanel } from "./ContextPanel";
import { type Case, type CaseFile, type Saying, useCaseEvidence, useRefresh } from "./data";
import classes from "./desk.module.css";
import { EvidencePane } from "./EvidencePane";
import { History } from "./History";
import { lacking } from "./lacking";
import listClasses from "./list.module.css";
import { Opinions } from "./Opinions";
import { TextFields } from "./TextFields";
import { useDraft } from "./useDraft";
import type { Said } from "./useUndo";
import { CORRECTION, mayCorrect, VerdictBar } from "./VerdictBar";

type CaseDeskProps = { file: CaseFile; me: string; onDecided: (said: Said) => void };

export function CaseDesk({ file, me, onDecided }: CaseDeskProps) {
  const [lit, setLit] = useState<number | null>(null);
  const [shown, setShown] = useState<Entry | null>(null);
  const [comment, setComment] = useState("");
  const first = useRef<HTMLTextAreaElement>(null);
  const note = useRef<HTMLInputElement>(null);
  const answering = useRef<Promise<void>>(Promise.resolve());
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
  const missing = [...lacking(entry), ...unanswered(file, me)];
  const decided = file.case.review === "validated" || file.case.status === "dismissed";

  async function say(saying: Saying) {
    const after = await draft.decide({ comment, ...saying });
    await refresh();
    if (after !== null) onDecided({ before: file, after, saying });
  }
  const sayLater = (saying: Saying) => () => void say(saying);

  /** Who answers and approves in one breath is not turned away: the answer is stored first. */
  async function approve() {
    await answering.current;
    const now = queries.getQueryData<CaseFile>(["review", "case", dataset, id]) ?? file;
    if (lacking(entry).length + unanswered(now, me).length === 0) await say({ verdict: "approve" });
  }

  useShortcuts("This case", [
    { keys: "a", does: "Approve", run: () => void approve() },
    { keys: "d", does: "Dismiss", run: sayLater({ verdict: "dismiss" }) },
    { keys: "o", does: "Ask for a second opinion", run: sayLater({ verdict: "second_opinion" }) },
    { keys: "s", does: "Skip", run: sayLater({ verdict: "skip" }) },
    ...(mayCorrect(entry) ? [{ keys: "C", does: "Save as correction", run: sayLater(CORRECTION) }] : []),
    ...(decided ? [{ keys: "r", does: "Reopen", run: sayLater({ verdict: "reopen" }) }] : []),
    ...(file.standing === "disputed"
      ? [
          { keys: "A", does: "Rule: approve", run: sayLater({ verdict: "approve", adjudicate: true }) },
          { keys: "D", does: "Rule: dismiss", run: sayLater({ verdict: "dismiss", adjudicate: true }) },
        ]
      : []),
    { keys: "e", does: "Edit the expected answer or query", run: () => first.current?.focus() },
    { keys: "m", does: "Write a comment", run: () => note.current?.focus() },
  ]);

  return (
    <>
      <section className={classes.desk} aria-label="Case">
        <div className={classes.fields}>
          <DeskHead entry={entry} state={draft.state} />
          <NeedsLook question={file.needs_look} traceId={entry.provenance.trace_id} />
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
          <Questions
            file={file}
            entry={entry}
            me={me}
            onAnswering={(done) => {
              answering.current = done;
            }}
          />
          <TextInput
            dir="auto"
            ref={note}
            label="Comment"
            placeholder="Why, for colleagues"
            value={comment}
            onChange={(event) => setComment(event.currentTarget.value)}
          />
          <History history={file.history} />
        </div>
        <VerdictBar entry={entry} decided={decided} missing={missing} onSay={(saying) => void say(saying)} />
      </section>
      <EvidencePane entry={entry} lit={lit} shown={shown} onEdit={draft.edit} />
      {draft.disproved && (
        <OverrideDialog
          problems={draft.disproved}
          onCancel={draft.dismiss}
          onOverride={(why) => void say({ verdict: "approve", overrideBase: true, comment: why })}
        />
      )}
    </>
  );
}

function DeskHead({ entry, state }: { entry: Case; state: string }) {
  return (
    <header className={classes.head}>
      <h2>{entry.id}</h2>
      <p className={listClasses.source}>
        {entry.dataset} · {entry.kind} · {entry.entry_type} · {entry.review} · v{entry.version} ·{" "}
        <span role="status">{state}</span>
      </p>
    </header>
  );
}
