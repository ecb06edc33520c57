/** The validator: import, review, export. Works on files alone; with a server behind it, evidence and checks appear. */
import { Button, Modal, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type DragEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useMe } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { Empty, Loading } from "@/ui/states";
import { EvidencePanel } from "../evidence/EvidencePanel";
import { useRowEvidence } from "../evidence/rowEvidence";
import { CaseEditor } from "./CaseEditor";
import { CaseList } from "./CaseList";
import { ExportDialog } from "./ExportDialog";
import { ImportDialog } from "./ImportDialog";
import { offered, type Proposal, propose, summary } from "./importing";
import { counts, type Filter, neighbour, nextIncomplete, visible } from "./navigation";
import { OverrideDialog } from "./OverrideDialog";
import classes from "./page.module.css";
import { applyPlan, type Choice } from "./reimport";
import type { Entry } from "./rows";
import { CopyNotice, SaveNotice } from "./SaveNotice";
import type { CaseState } from "./session";
import { Toolbar } from "./Toolbar";
import { useProvedValidation } from "./useProvedValidation";
import { useValidator } from "./useValidator";
import { useValidatorKeys } from "./useValidatorKeys";
import { DATASET, useWorkspaceCopy } from "./useWorkspaceCopy";

const EVIDENCE_AFTER_MS = 120;

type Tab = "list" | "case" | "evidence";

export function ValidatorPage() {
  const { session, dispatch, save, takeOver, forget } = useValidator();
  const [filter, setFilter] = useState<Filter>({ text: "", status: "all" });
  const [proposal, setProposal] = useState<Proposal | null>(null);
  const [dialog, setDialog] = useState<"export" | "clear" | null>(null);
  const [notice, setNotice] = useState<string | null>(null);
  const [dropping, setDropping] = useState(false);
  const [tab, setTab] = useState<Tab>("case");
  const [shown, setShown] = useState<Entry | null>(null);
  const me = useMe();
  const there = useWorkspaceCopy(session, save !== "loading", me.data !== undefined);
  const refs = {
    search: useRef<HTMLInputElement>(null),
    query: useRef<HTMLTextAreaElement>(null),
    commit: useRef<HTMLInputElement>(null),
  };

  const { cases, order } = session;
  const keys = useMemo(() => visible({ cases, order }, filter), [cases, order, filter]);
  const found = useMemo(() => counts({ cases, order }), [cases, order]);
  const key = session.current;
  const state: CaseState | undefined = key === null ? undefined : session.cases[key];
  // The editor answers the key at once; the evidence, which is heavier, follows when the reviewer stays.
  const [late] = useDebouncedValue(state, EVIDENCE_AFTER_MS);
  const evidence = useRowEvidence(late?.content ?? null);

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

  function step(kind: "previous" | "next" | "incomplete") {
    if (kind !== "incomplete") return select(neighbour(keys, session.current, kind === "next" ? 1 : -1));
    const next = nextIncomplete(session);
    setNotice(next === null ? "Every case is validated." : null);
    select(next);
  }

  const proving = useProvedValidation(dispatch);

  function validate() {
    if (key === null || state === undefined) return;
    void proving.validate(key, state, evidence.data?.diff ?? null);
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

  useValidatorKeys({
    step,
    validate,
    refs,
    session,
    dispatch,
    onExport: () => setDialog("export"),
    enabled: state !== undefined,
  });

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the page takes dropped files; the Import button does the same by keyboard
    <div
      className={classes.page}
      onDragOver={(event) => {
        event.preventDefault();
        if (event.dataTransfer.types.includes("Files")) setDropping(true);
      }}
      onDragLeave={(event) => {
        if (event.relatedTarget === null) setDropping(false);
      }}
      onDrop={drop}
    >
      <div>
        <Toolbar
          empty={session.order.length === 0}
          save={save}
          copy={there.copy}
          undo={session.past.at(-1)?.label ?? null}
          redo={session.future.at(-1)?.label ?? null}
          onFiles={(files) => void take(files)}
          onExport={() => setDialog("export")}
          onClear={() => setDialog("clear")}
          onStep={step}
          onUndo={() => dispatch({ type: "undo" })}
          onRedo={() => dispatch({ type: "redo" })}
        />
        <SaveNotice
          save={save}
          onTakeOver={takeOver}
          onExport={() => setDialog("export")}
          onForget={() => void forget()}
        />
        <CopyNotice copy={there.copy} onInsist={there.insist} />
        {proving.failure && (
          <div className={classes.notice} role="alert">
            The case was not marked: {proving.failure}
          </div>
        )}
        {notice && (
          <div className={classes.notice} role="status">
            {notice}
            <button type="button" className={classes.linkish} onClick={() => setNotice(null)}>
              Dismiss
            </button>
          </div>
        )}
      </div>
      {session.order.length > 0 && <Tabs tab={tab} onTab={setTab} />}
      {save === "loading" ? (
        <Loading what="your session" />
      ) : state === undefined || key === null ? (
        <Welcome onOpen={me.data === undefined ? null : openWorkspace} />
      ) : (
        <div className={classes.columns} data-tab={tab}>
          <CaseList
            session={session}
            keys={keys}
            counts={found}
            filter={filter}
            searchRef={refs.search}
            onFilter={setFilter}
            onSelect={select}
          />
          <CaseEditor
            caseKey={key}
            state={state}
            dispatch={dispatch}
            evidence={evidence.data}
            queryRef={refs.query}
            commitRef={refs.commit}
            onValidate={validate}
            onShow={setShown}
          />
          <EvidencePanel content={(late ?? state).content} evidence={evidence} shown={shown} dispatch={dispatch} />
        </div>
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
          {session.order.length} cases with their edits leave this browser. Undo brings them back until you leave the
          page.
        </Text>
        <Button
          color="rust"
          onClick={() => {
            dispatch({ type: "clearAll" });
            setDialog(null);
          }}
        >
          Clear {session.order.length} cases
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

function Tabs({ tab, onTab }: { tab: Tab; onTab: (tab: Tab) => void }) {
  const names: [Tab, string][] = [
    ["list", "Cases"],
    ["case", "Case"],
    ["evidence", "Evidence"],
  ];
  return (
    <div className={classes.tabs}>
      {names.map(([name, label]) => (
        <button key={name} type="button" aria-pressed={tab === name} onClick={() => onTab(name)}>
          {label}
        </button>
      ))}
    </div>
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
