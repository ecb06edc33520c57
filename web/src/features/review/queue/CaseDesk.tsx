/** One case on the desk: its panel by kind, opinions, questions, history, and the verdict bar. */
import { Button, Group, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { lazy, useCallback, useLayoutEffect, useRef, useState } from "react";
import { useMay } from "@/api/access";
import { When } from "@/ui/Age";
import { Assertions } from "@/ui/Assertions";
import { NeedsLook } from "@/ui/cases";
import { holdKeys, keyed, useShortcuts } from "@/ui/shortcuts";
import { visible } from "@/ui/text";
import { applyEdit, changesOf, contentOf, type Edit, type Entry } from "../content";
import { CasePane } from "../desk";
import desk from "../desk.module.css";
import { EvidencePanel } from "../Evidence";
import { Questions, unanswered } from "../questions/Questions";
import { CaseEvidence, TextFields } from "./CaseContent";
import { type Case, type CaseFile, type Decision, useCaseEvidence, useRefreshSoon } from "./data";
import { type Conflict, type Decided, lacking, useDraft } from "./drafts";
import classes from "./queue.module.css";
import { StaleReasons } from "./StaleReasons";

/** `why` says what its review is worth. `onDecided` and `onSettled` say whether another case opens. */
type CaseDeskProps = {
  file: CaseFile;
  me: string;
  why: string | null | undefined;
  /** Whether the next case can be shown at once: it is opened while the verdict on this one is still being sent. */
  isNextLoaded: () => boolean;
  onDecided: (decided: Decided) => Promise<boolean>;
  onSettled: () => Promise<boolean>;
};

/** Most cases need neither. */
const ContextEditor = lazy(() => import("../ContextEditor").then((part) => ({ default: part.ContextEditor })));
const OverrideDialog = lazy(() => import("../ContextEditor").then((part) => ({ default: part.OverrideDialog })));

const TITLE_MOST = 200;
const yes = () => true;
const no = () => false;

export function CaseDesk({ file, me, why, isNextLoaded, onDecided, onSettled }: CaseDeskProps) {
  const [lit, setLit] = useState<number | null>(null);
  const [shown, setShown] = useState<Entry | null>(null);
  const [comment, setComment] = useState("");
  const first = useRef<HTMLTextAreaElement>(null);
  const note = useRef<HTMLInputElement>(null);
  const answering = useRef<Promise<void>>(Promise.resolve());
  /** Set from a verdict on until this desk gives way to that of the next case; lets the held keys act. */
  const leaving = useRef<((drop?: boolean) => void) | null>(null);
  useLayoutEffect(() => () => leaving.current?.(), []);
  const refresh = useRefreshSoon();
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
  const moderates = useMay("editor");
  const deciders = file.decided_by.filter((name) => name !== me);
  const locked = deciders.length > 0 && !moderates;
  const settles = file.standing === "disputed" && moderates;

  async function decide(given: Decision) {
    if (leaving.current) return;
    // One more opinion would not end a dispute: a verdict of whoever may settle it does.
    const rules = settles && (given.verdict === "approve" || given.verdict === "dismiss");
    const decision = rules ? { ...given, adjudicate: true } : given;
    // A key that is pressed until the next case is shown is meant for that one.
    leaving.current = holdKeys();
    // Whoever comes back to this case finds it decided, and the keys that go with that.
    const after = draft.decide({ comment, ...decision }).then((entry) => {
      queries.setQueryData<CaseFile>(["review", "case", dataset, id], (old) => old && { ...old, case: entry });
      return entry;
    });
    // A base commit may be disproved: the reviewer is asked on this case, not on the next.
    const waits = !isNextLoaded() || (entry.kind === "context" && decision.verdict === "approve");
    const stored = await (waits ? after.then(yes, no) : true);
    const leaves = stored && (await onDecided({ before: file, after, decision }));
    if (!leaves) {
      leaving.current(!stored);
      leaving.current = null;
    }
    await after.catch(no);
    refresh();
  }
  const decideLater = (decision: Decision) => () => void decide(decision);

  /** Who answers and approves in one breath is not turned away: the answer is stored first. */
  async function approve() {
    const release = holdKeys();
    await answering.current;
    const now = queries.getQueryData<CaseFile>(["review", "case", dataset, id]) ?? file;
    if (lacking(entry).length + unanswered(now, me).length === 0) void decide({ verdict: "approve" });
    release();
  }

  useShortcuts("This case", [
    { keys: "a", does: settles ? "Settle: approve" : "Approve", run: () => void approve() },
    { keys: "d", does: settles ? "Settle: dismiss" : "Dismiss", run: decideLater({ verdict: "dismiss" }) },
    { keys: "o", does: "Ask for a second opinion", run: decideLater({ verdict: "second_opinion" }) },
    { keys: "s", does: "Skip", run: decideLater({ verdict: "skip" }) },
    ...(mayCorrect(entry) && !locked ? [{ keys: "C", does: "Save as correction", run: decideLater(CORRECTION) }] : []),
    ...(decided && !locked ? [{ keys: "r", does: "Reopen", run: decideLater({ verdict: "reopen" }) }] : []),
    { keys: "e", does: "Edit the expected answer or query", run: () => first.current?.focus() },
    { keys: "m", does: "Write a comment", run: () => note.current?.focus() },
  ]);

  const content = entry.kind === "context" ? contentOf(entry) : null;
  function editContent(edit: Edit) {
    if (content === null || locked) return;
    const changes = changesOf(content, applyEdit(content, edit));
    if (Object.keys(changes).length > 0) draft.edit(changes);
  }

  return (
    <>
      <CasePane
        title={visible((entry.name || entry.input || entry.id).slice(0, TITLE_MOST))}
        facts={
          <>
            {visible(entry.id)} · {entry.dataset} · {entry.kind} · {entry.entry_type} · {entry.review} · v
            {entry.version} · <span role="status">{draft.state}</span>
          </>
        }
        verdicts={
          <Verdicts
            entry={entry}
            decided={decided}
            locked={locked}
            settles={settles}
            missing={missing}
            onDecide={(decision) => void decide(decision)}
          />
        }
      >
        {why && <p className="eg-dim">Worth reviewing: {why}</p>}
        {file.needs_look?.startsWith("stale?") ? (
          <StaleReasons file={file} waiting={draft.state !== "saved"} locked={locked} onSettled={onSettled} />
        ) : (
          <NeedsLook question={file.needs_look} traceId={entry.provenance.trace_id} />
        )}
        {draft.conflict && <ConflictBanner conflict={draft.conflict} theirs={file.case} onResolve={draft.resolve} />}
        {draft.problem && (
          <p className={classes.problem} role="alert">
            {draft.problem}
          </p>
        )}
        <Opinions file={file} me={me} />
        {locked && (
          <p className="eg-dim">
            {deciders.join(", ")} decided this case. To change it, ask for a second opinion, or let an editor reopen it.
          </p>
        )}
        <fieldset disabled={locked} className={classes.fields}>
          {content ? (
            <ContextEditor
              content={content}
              evidence={evidence.data}
              onEdit={editContent}
              onShow={setShown}
              queryRef={first}
            />
          ) : (
            <>
              <TextFields entry={entry} onEdit={draft.edit} onLight={setLit} firstRef={first} />
              <Assertions
                of={file.case}
                assertions={entry.assertions}
                onChange={(assertions) => draft.edit({ assertions })}
              />
            </>
          )}
        </fieldset>
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
      </CasePane>
      {content ? (
        <EvidencePanel content={content} evidence={evidence} shown={shown} onEdit={editContent} />
      ) : (
        <CaseEvidence entry={entry} evidence={evidence} lit={lit} />
      )}
      {draft.disproved && (
        <OverrideDialog
          problems={draft.disproved}
          onCancel={draft.dismiss}
          onOverride={(why) => void decide({ verdict: "approve", overrideBase: true, comment: why })}
        />
      )}
    </>
  );
}

type OpinionsProps = { file: CaseFile; me: string };

/**
 * What colleagues said. Hidden until this reviewer has spoken, where several must agree: an opinion read before one's own is
 * not independent. Shown at once when they differ, because then somebody must rule.
 */
function Opinions({ file, me }: OpinionsProps) {
  const [open, setOpen] = useState(false);
  const moderates = useMay("editor");
  const spoken = file.opinions.filter((opinion) => opinion.verdict !== "skip");
  if (spoken.length === 0) return null;
  const disputed = file.standing === "disputed";
  const visible = open || disputed || spoken.some((opinion) => opinion.reviewer === me);
  return (
    <section className={classes.opinions} aria-label="Opinions">
      <h3>
        {disputed ? "Reviewers differ" : file.standing === "second_opinion" ? "A second opinion is wanted" : "Opinions"}{" "}
        ({spoken.length})
      </h3>
      {visible ? (
        <ul>
          {spoken.map((opinion) => (
            <li key={`${opinion.reviewer} ${opinion.created_at}`}>
              <b>{opinion.reviewer}</b>: {opinion.verdict.replace("_", " ")}
              {opinion.adjudicate && " (settled it)"}
              {opinion.comment && ` — ${opinion.comment}`}
            </li>
          ))}
        </ul>
      ) : (
        <Button size="compact-xs" variant="default" onClick={() => setOpen(true)}>
          Show them before I decide
        </Button>
      )}
      {disputed && !moderates && (
        <p className="eg-dim">An editor or owner settles it; your verdict is one more opinion.</p>
      )}
    </section>
  );
}

type ConflictBannerProps = { conflict: Conflict; theirs: Case; onResolve: (choice: "mine" | "theirs") => void };

/** Somebody else was first: their version and mine side by side, field by field, and one choice. */
function ConflictBanner({ conflict, theirs, onResolve }: ConflictBannerProps) {
  const both = Object.fromEntries(
    Object.entries(conflict.mine).map(([name, mine]) => [name, { old: theirs[name as keyof Case], new: mine }]),
  );
  return (
    <section className={classes.conflict} role="alert">
      <p>{conflict.message}</p>
      <p className={desk.dim}>Struck through: what is there now. Underlined: what you wrote.</p>
      <Difference changes={both} />
      <Group gap="xs">
        <Button size="compact-sm" variant="default" onClick={() => onResolve("mine")}>
          Keep mine
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onResolve("theirs")}>
          Take theirs
        </Button>
      </Group>
    </section>
  );
}

const formatValue = (value: unknown) =>
  value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value, null, 1);

/** Who did what and when, newest first; each revision opens to what it changed. */
function History({ history }: { history: CaseFile["history"] }) {
  return (
    <details className={classes.history}>
      <summary>History ({history.length})</summary>
      <ol>
        {[...history].reverse().map((entry) => (
          <li key={`${entry.version} ${entry.who} ${entry.what} ${entry.at}`}>
            <b>{entry.who}</b> {entry.what.replace("_", " ")}{" "}
            <span className={desk.dim}>
              v{entry.version} · <When at={entry.at} />
            </span>
            {entry.why && <p>{entry.why}</p>}
            <Difference changes={entry.changes} />
          </li>
        ))}
      </ol>
    </details>
  );
}

function Difference({ changes }: { changes: CaseFile["history"][number]["changes"] }) {
  const fields = Object.entries(changes as Record<string, { old?: unknown; new?: unknown }>);
  if (fields.length === 0) return null;
  return (
    <dl className={classes.difference}>
      {fields.map(([name, change]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <del>{formatValue(change.old)}</del>
            <ins>{formatValue(change.new)}</ins>
          </dd>
        </div>
      ))}
    </dl>
  );
}

type VerdictsProps = {
  entry: Case;
  decided: boolean;
  /** Decided by others, and the reader does not moderate. */
  locked: boolean;
  /** Reviewers differ, and the verdict of the reader ends that. */
  settles: boolean;
  missing: string[];
  onDecide: (decision: Decision) => void;
};

const CORRECTION: Decision = { verdict: "approve", changes: { entry_type: "correction" } };

/** Whether the case can be saved as a correction: a chat with an expected answer that is not one already. */
function mayCorrect(entry: Case): boolean {
  return entry.kind === "chat" && entry.entry_type !== "correction" && Boolean(entry.expected?.trim());
}

/** The verdicts on a case as buttons, and what still stands in the way of approving it. */
function Verdicts({ entry, decided, locked, settles, missing, onDecide }: VerdictsProps) {
  return (
    <>
      <Button
        disabled={missing.length > 0}
        aria-describedby="lacking"
        {...keyed("a")}
        onClick={() => onDecide({ verdict: "approve" })}
      >
        {settles ? "Settle: approve" : "Approve"}
      </Button>
      {entry.kind === "chat" && entry.entry_type !== "correction" && (
        <Button
          variant="default"
          disabled={locked || !mayCorrect(entry)}
          {...keyed("C")}
          onClick={() => onDecide(CORRECTION)}
        >
          Save as correction
        </Button>
      )}
      <Button variant="default" {...keyed("d")} onClick={() => onDecide({ verdict: "dismiss" })}>
        {settles ? "Settle: dismiss" : "Dismiss"}
      </Button>
      <Button variant="default" {...keyed("o")} onClick={() => onDecide({ verdict: "second_opinion" })}>
        Second opinion
      </Button>
      {decided ? (
        !locked && (
          <Button variant="default" {...keyed("r")} onClick={() => onDecide({ verdict: "reopen" })}>
            Reopen
          </Button>
        )
      ) : (
        <Button variant="subtle" {...keyed("s")} onClick={() => onDecide({ verdict: "skip" })}>
          Skip
        </Button>
      )}
      <span id="lacking" className={desk.why} aria-live="polite">
        {missing.length > 0 && `${missing.join(", ")} missing`}
      </span>
    </>
  );
}
