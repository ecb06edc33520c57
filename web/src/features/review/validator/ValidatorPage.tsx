/** The validator: import, review, export. Works on files alone; with a server behind it, evidence and checks appear. */
import { Button, Modal, NativeSelect, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import {
  type Dispatch,
  type DragEvent,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useMe } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { keyed, useShortcuts } from "@/ui/shortcuts";
import { Empty, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import { ContextEditor, OverrideDialog } from "../ContextEditor";
import { type Edit, type Entry, lacks } from "../content";
import { CaseList, CasePane, CaseRow, Desk, type DeskTab, isField, StateMark, useEscapeFromFields } from "../desk";
import desk from "../desk.module.css";
import { changeOf, EvidencePanel, useRowEvidence } from "../Evidence";
import { ExportDialog, ImportDialog } from "./dialogs";
import { applyPlan, type Choice, offered, type Proposal, propose, summary } from "./imports";
import {
  type Action,
  type CaseState,
  counts,
  type Filter,
  listed,
  neighbour,
  nextIncomplete,
  type Session,
  type StatusFilter,
  statusOf,
} from "./session";
import { useProvedValidation, useValidator } from "./useValidator";
import { CopyNotice, SaveNotice, type Step, Toolbar } from "./ValidatorBar";
import classes from "./validator.module.css";
import { DATASET, useWorkspaceCopy } from "./workspaceCopy";

const EVIDENCE_AFTER_MS = 120;

export function ValidatorPage() {
  const { session, dispatch, save, takeOver, forget } = useValidator();
  const [filter, setFilter] = useState<Filter>({ text: "", status: "all" });
  const [proposal, setProposal] = useState<Proposal | null>(null);
  const [dialog, setDialog] = useState<"export" | "clear" | null>(null);
  const [notice, setNotice] = useState<string | null>(null);
  const [dropping, setDropping] = useState(false);
  const [tab, setTab] = useState<DeskTab>("case");
  const [shown, setShown] = useState<Entry | null>(null);
  const me = useMe();
  const there = useWorkspaceCopy(session, save !== "loading", me.data !== undefined);
  const proving = useProvedValidation(dispatch);
  const search = useRef<HTMLInputElement>(null);
  const query = useRef<HTMLTextAreaElement>(null);
  const commit = useRef<HTMLInputElement>(null);

  const { cases, order, current: key } = session;
  const keys = useMemo(() => listed({ cases, order }, filter), [cases, order, filter]);
  const state: CaseState | undefined = key === null ? undefined : cases[key];
  // The editor answers the key at once; the evidence, which is heavier, follows when the reviewer stays.
  const [late] = useDebouncedValue(state, EVIDENCE_AFTER_MS);
  const beside = (late ?? state)?.content;
  const evidence = useRowEvidence(late?.content ?? null);
  const edit = (made: Edit) => key !== null && dispatch({ type: "edit", key, edit: made });
  const besideKey = beside?.identity.caseId;
  const editBeside = useCallback(
    (made: Edit) => besideKey !== undefined && dispatch({ type: "edit", key: besideKey, edit: made }),
    [dispatch, besideKey],
  );

  useEffect(() => {
    document.title = "Validator · Evergold";
  }, []);

  const select = useCallback(
    (next: string | null) => {
      if (next === null) return;
      dispatch({ type: "select", key: next });
      setShown(null);
      setTab("case");
    },
    [dispatch],
  );

  function step(kind: Step) {
    if (kind !== "incomplete") return select(neighbour(keys, key, kind === "next" ? 1 : -1));
    const next = nextIncomplete(session);
    setNotice(next === null ? "Every case is validated." : null);
    select(next);
  }

  function validate() {
    if (key === null || state === undefined) return;
    void proving.validate(key, state, changeOf(evidence.data));
  }

  async function take(files: readonly File[]) {
    setNotice(null);
    if (files.length === 0) return;
    const next = await propose(session, files);
    if (next.problems.length > 0 || next.plan.clashes.length > 0 || offered(next.plan) === 0) setProposal(next);
    else put(next, {});
  }

  function put(accepted: Proposal, chosen: { [key: string]: Choice }) {
    const states = applyPlan(session, accepted.plan, chosen);
    dispatch({ type: "put", label: `import ${accepted.files.map((file) => file.file).join(", ")}`, states });
    setNotice(`${summary(accepted)}.`);
    setProposal(null);
  }

  async function openWorkspace() {
    const states = await there.fetchCases();
    dispatch({ type: "put", label: "open from the workspace", states });
  }

  function drop(event: DragEvent) {
    event.preventDefault();
    setDropping(false);
    void take([...event.dataTransfer.files]);
  }

  useShortcuts("Validator", [
    ...(state === undefined
      ? []
      : [
          { keys: "n", does: "Next incomplete case", run: () => step("incomplete") },
          { keys: "j", does: "Next case", run: () => step("next") },
          { keys: "k", does: "Previous case", run: () => step("previous") },
          { keys: "v", does: "Mark as validated", run: validate },
          { keys: "q", does: "Edit the query", run: () => query.current?.focus() },
          { keys: "b", does: "Edit the base commit", run: () => commit.current?.focus() },
          { keys: "p", does: "Edit the paths", run: () => focusFirst("File paths") },
          { keys: "r", does: "Edit the ranges", run: () => focusFirst("Line ranges") },
          { keys: "/", does: "Search", run: () => search.current?.focus() },
          { keys: "x", does: "Export", run: () => setDialog("export") },
          { keys: "Alt+↑↓", does: "Move an entry up or down (in a list)", run: () => undefined },
          { keys: "Escape", does: "Leave a field", run: () => undefined },
        ]),
    { keys: "z", does: "Undo", run: () => dispatch({ type: "undo" }) },
    { keys: "Z", does: "Redo", run: () => dispatch({ type: "redo" }) },
  ]);
  useEscapeFromFields();
  useControlKeys(validate, dispatch);

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the page takes dropped files; the Import button does the same by keyboard
    <div
      className={desk.page}
      onDragOver={(event) => {
        event.preventDefault();
        if (event.dataTransfer.types.includes("Files")) setDropping(true);
      }}
      onDragLeave={(event) => {
        if (event.relatedTarget === null) setDropping(false);
      }}
      onDrop={drop}
    >
      <Toolbar
        session={session}
        save={save}
        copy={there.copy}
        dispatch={dispatch}
        onFiles={(files) => void take(files)}
        onDialog={setDialog}
        onStep={step}
      />
      <SaveNotice
        save={save}
        onTakeOver={takeOver}
        onExport={() => setDialog("export")}
        onForget={() => void forget()}
      />
      <CopyNotice copy={there.copy} onInsist={there.insist} />
      {proving.failure && (
        <p className={desk.notice} role="alert">
          The case was not marked: {proving.failure}
        </p>
      )}
      {notice && (
        <p className={desk.notice} role="status">
          {notice}
          <button type="button" className={desk.linkish} onClick={() => setNotice(null)}>
            Dismiss
          </button>
        </p>
      )}
      {save === "loading" ? (
        <Loading what="your session" />
      ) : state === undefined || key === null || beside === undefined ? (
        <Welcome onOpen={me.data === undefined ? null : openWorkspace} />
      ) : (
        <Desk
          name="Cases"
          tab={tab}
          onTab={setTab}
          list={
            <Sidebar
              session={session}
              keys={keys}
              filter={filter}
              searchRef={search}
              onFilter={setFilter}
              onSelect={select}
            />
          }
        >
          <CasePane
            title={
              <>
                <StateMark state={statusOf(state)} /> {visible(key)}
              </>
            }
            facts={visible(factsOf(state))}
            verdicts={<Verdicts caseKey={key} state={state} dispatch={dispatch} onValidate={validate} />}
          >
            <ContextEditor
              content={state.content}
              evidence={evidence.data}
              onEdit={edit}
              onShow={setShown}
              queryRef={query}
              commitRef={commit}
            />
          </CasePane>
          <EvidencePanel content={beside} evidence={evidence} shown={shown} onEdit={editBeside} />
        </Desk>
      )}
      {proposal && (
        <ImportDialog
          proposal={proposal}
          onCancel={() => setProposal(null)}
          onImport={(chosen) => put(proposal, chosen)}
        />
      )}
      {dialog === "export" && (
        <ExportDialog
          session={session}
          onClose={() => setDialog(null)}
          onGo={(target) => {
            setDialog(null);
            select(target);
          }}
        />
      )}
      <Modal opened={dialog === "clear"} onClose={() => setDialog(null)} title="Clear all?" centered>
        <Text size="sm" mb="md">
          {order.length} cases with their edits leave this browser. Undo brings them back until you leave the page.
        </Text>
        <Button
          color="rust"
          onClick={() => {
            dispatch({ type: "clearAll" });
            setDialog(null);
          }}
        >
          Clear {order.length} cases
        </Button>
      </Modal>
      {proving.disproved && state !== undefined && (
        <OverrideDialog
          problems={proving.disproved.problems}
          onCancel={proving.dismiss}
          onOverride={(why) => proving.override(state, why)}
        />
      )}
      {dropping && <div className={classes.drop}>Drop dataset A and B files here</div>}
    </div>
  );
}

function focusFirst(section: string) {
  document.querySelector<HTMLElement>(`section[aria-label="${section}"] [data-path]`)?.focus();
}

/** Control with Enter validates from inside a field; with Z it undoes and redoes outside of one. */
function useControlKeys(validate: () => void, dispatch: Dispatch<Action>) {
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      if (!(event.ctrlKey || event.metaKey)) return;
      if (event.key === "Enter" && isField(event.target)) validate();
      else if (event.key.toLowerCase() === "z" && !isField(event.target))
        dispatch({ type: event.shiftKey ? "redo" : "undo" });
    }
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [dispatch, validate]);
}

function factsOf({ content: { identity } }: CaseState): string {
  const { taskId, flowId, caseIndex, workspaceId } = identity;
  return `task ${taskId || "–"} · flow ${flowId || "–"} · case ${caseIndex} · workspace ${workspaceId || "–"}`;
}

const FILTERS: StatusFilter[] = ["all", "incomplete", "ready", "validated", "edited", "half pair"];

type SidebarProps = {
  session: Session;
  keys: string[];
  filter: Filter;
  searchRef: RefObject<HTMLInputElement | null>;
  onFilter: (filter: Filter) => void;
  onSelect: (key: string) => void;
};

function Sidebar({ session, keys, filter, searchRef, onFilter, onSelect }: SidebarProps) {
  const { cases, order, current } = session;
  const found = useMemo(() => counts({ cases, order }), [cases, order]);
  return (
    <>
      <div className={desk.filters}>
        <div className={classes.search}>
          <TextInput
            ref={searchRef}
            aria-label="Search cases"
            placeholder="Search id, query, path"
            size="xs"
            value={filter.text}
            onChange={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
          />
          <NativeSelect
            aria-label="Show"
            size="xs"
            data={FILTERS}
            value={filter.status}
            onChange={(event) => onFilter({ ...filter, status: event.currentTarget.value as StatusFilter })}
          />
        </div>
        <p className={desk.summary} role="status">
          <b>{found.validated}</b> of {found.total} validated · {found.incomplete} incomplete
          {keys.length !== found.total && ` · ${keys.length} shown`}
        </p>
      </div>
      <CaseList rows={keys} keyOf={(key) => key} current={current}>
        {(key) => {
          const state = cases[key] as CaseState;
          const { query, filePaths, lineRanges } = state.content;
          const half = filePaths === null ? " · A missing" : lineRanges === null ? " · B missing" : "";
          return (
            <CaseRow
              mark={<StateMark state={statusOf(state)} />}
              title={query || "No query yet"}
              facts={`${key}${half}`}
              here={key === current}
              onSelect={() => onSelect(key)}
            />
          );
        }}
      </CaseList>
    </>
  );
}

type VerdictsProps = { caseKey: string; state: CaseState; dispatch: Dispatch<Action>; onValidate: () => void };

function Verdicts({ caseKey, state, dispatch, onValidate }: VerdictsProps) {
  const missing = lacks(state.content);
  const edited = state.content !== state.imported;
  return (
    <>
      {state.validated ? (
        <Button variant="default" onClick={() => dispatch({ type: "unvalidate", key: caseKey })}>
          Reopen
        </Button>
      ) : (
        <Button disabled={missing.length > 0} aria-describedby="why-not" {...keyed("v")} onClick={onValidate}>
          Mark as validated
        </Button>
      )}
      <span id="why-not" className={desk.why} aria-live="polite">
        {state.validated
          ? "Validated. An edit makes it unvalidated again."
          : missing.length > 0
            ? missing.slice(0, 3).join("; ") + (missing.length > 3 ? `; and ${missing.length - 3} more` : "")
            : "Complete."}
      </span>
      <Button variant="subtle" disabled={!edited} onClick={() => dispatch({ type: "reset", key: caseKey })}>
        Reset
      </Button>
    </>
  );
}

function Welcome({ onOpen }: { onOpen: (() => Promise<void>) | null }) {
  const held = useQuery({
    queryKey: ["validator", "held"],
    enabled: onOpen !== null,
    queryFn: () =>
      unwrap(api.GET("/api/v1/review/queue", { params: { query: { dataset: DATASET, kind: "context", limit: 1 } } })),
  });
  const count = held.data?.total ?? 0;
  return (
    <Empty title="Import the two unvalidated files">
      <p>
        Drop <code>dataset_a_file_paths.unvalidated.jsonl</code> and{" "}
        <code>dataset_b_line_ranges.unvalidated.jsonl</code> here, or use Import. Your edits stay in this browser, and
        in the workspace of the server behind it, until you export them.
      </p>
      {onOpen !== null && count > 0 && (
        <Button variant="default" onClick={() => void onOpen()}>
          Open {count === 1 ? "the case" : `the ${count} cases`} of the workspace
        </Button>
      )}
      <p>The files are extracted from finished agent work; the page on agent flows in the documentation says how.</p>
    </Empty>
  );
}
