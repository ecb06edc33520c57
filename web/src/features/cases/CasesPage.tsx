/** Every case, newest first, with filters; one opens beside the list. */
import { Button, TextInput } from "@mantine/core";
import { getRouteApi, Link, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useMay } from "@/api/access";
import { changed } from "@/ui/address";
import { Beginning } from "@/ui/Beginning";
import { EVIDENCE } from "@/ui/cases";
import { FilterBar } from "@/ui/filterbar/FilterBar";
import type { Field, Option } from "@/ui/filterbar/fields";
import { ColumnPicker, OrderPicker, Views } from "@/ui/filterbar/Views";
import { count, plural } from "@/ui/format";
import { Split } from "@/ui/Page";
import { DensitySwitch, RecordList } from "@/ui/RecordList";
import { Empty, ListState } from "@/ui/states";
import { CaseTools } from "./CaseTools";
import classes from "./cases.module.css";
import { CHOOSABLE, columnsOf, shownColumns } from "./columns";
import { type Case, type CaseFacets, useCases, useFacets, useRepeats } from "./data";
import { type Key, useCaseChanges } from "./edits";
import { type CaseView, isNarrowed, KINDS, ORDERS, REVIEWS, STATUSES, TIERS } from "./view";

const route = getRouteApi("/cases");
const keyOf = (entry: Case) => `${entry.dataset}/${entry.id}`;

export function CasesPage() {
  const view = route.useSearch();
  const navigate = useNavigate();
  const { dataset, caseId } = useParams({ strict: false });
  const cases = useCases(view);
  const rows = useMemo(() => cases.data?.pages.flatMap((page) => page.cases) ?? [], [cases.data]);
  const { total, candidates_left_out: waiting = 0 } = cases.data?.pages[0] ?? {};
  const repeats = useRepeats(rows);
  const shown = useMemo(() => columnsOf(view, repeats), [view, repeats]);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const mayEdit = useMay("editor");
  const chosen = rows.filter((row) => marked.has(keyOf(row))).map(({ dataset, id }) => ({ dataset, id }));
  const show = (next: CaseView) => void navigate({ to: ".", search: next, replace: true });

  return (
    <Split
      title="Cases"
      lead={
        total !== undefined && (
          <>
            {plural(total, "case")}
            {waiting > 0 && (
              <>
                {" · "}
                <Link to="." search={{ ...view, tier: "candidate" }} title="Nobody has said yet that they are good">
                  {plural(waiting, "candidate")} not shown
                </Link>
              </>
            )}
          </>
        )
      }
      filters={
        <>
          <CaseFilters view={view} onChange={show} />
          <CaseTools view={view} />
        </>
      }
      list={
        <ListState
          what="cases"
          query={cases}
          rows={rows}
          empty={<NoCases filtered={isNarrowed(view)} reset={() => show({})} />}
        >
          {marked.size > 0 && <BulkCases cases={chosen} onClear={() => setMarked(new Set())} />}
          <RecordList
            label="Cases"
            marked={mayEdit ? marked : undefined}
            onMark={mayEdit ? setMarked : undefined}
            rows={rows}
            columns={shown.columns}
            template={shown.template}
            rowKey={keyOf}
            selected={dataset && caseId ? `${dataset}/${caseId}` : null}
            href={(row) => `/cases/${encodeURIComponent(row.dataset)}/${encodeURIComponent(row.id)}`}
            open={(row) =>
              void navigate({
                to: "/cases/$dataset/$caseId",
                params: { dataset: row.dataset, caseId: row.id },
                search: view,
                replace: Boolean(caseId),
              })
            }
            more={cases.hasNextPage}
            loadMore={cases.fetchNextPage}
            loadingMore={cases.isFetchingNextPage}
            end={`End of the list: ${plural(rows.length, "case")}`}
          />
        </ListState>
      }
      record={caseId ? <Outlet /> : null}
    />
  );
}

function NoCases({ filtered, reset }: { filtered: boolean; reset: () => void }) {
  if (filtered) {
    return (
      <Empty
        title="No case passes these filters"
        action={
          <button type="button" onClick={reset}>
            Clear the filters
          </button>
        }
      />
    );
  }
  return (
    <Empty title="No cases yet">
      <p>Cases come from traces with scores, and from files.</p>
      <Beginning of="cases" sample />
    </Empty>
  );
}

const TYPE_LABELS = {
  confirmed: "Golden, confirmed",
  unconfirmed: "Golden, unconfirmed",
  candidate: "Candidate: nobody objected",
  failure: "Failure",
  correction: "Correction",
};
const KIND = {
  chat: "Chat",
  context: "Context retrieval",
  qa: "Question and answer",
  summary: "Summary",
  task: "Task",
};
const REVIEW = { unvalidated: "Not validated", validated: "Validated" };
const STATUS = { active: "Active", withdrawn: "Withdrawn", dismissed: "Dismissed", erased: "Erased" };
const ORDER = { newest: "Newest first", oldest: "Oldest first", changed: "Last changed first" };

/** The filters of the list, with the values its cases have. */
function CaseFilters({ view, onChange }: { view: CaseView; onChange: (next: CaseView) => void }) {
  const facets = useFacets(view);
  return (
    <FilterBar what="cases" view={view} fields={fieldsOf(facets.data)} onChange={onChange} note={noteOn(facets.data)}>
      <OrderPicker
        orders={ORDERS.map((value) => ({ value, label: ORDER[value] }))}
        value={view.order}
        onChange={(order) => onChange(changed(view, "order", order as CaseView["order"] | null))}
      />
      <ColumnPicker
        columns={CHOOSABLE}
        shown={shownColumns(view)}
        onChange={(columns) => onChange(changed(view, "columns", columns))}
      />
      <DensitySwitch />
      <Views page="cases" />
    </FilterBar>
  );
}

/** Says where the counts are not of all cases. */
function noteOn(facets: CaseFacets | undefined): string | undefined {
  return facets && !facets.exact ? `Counts are of the newest ${count(facets.total)} cases of this list.` : undefined;
}

function fieldsOf(facets: CaseFacets | undefined): Field<CaseView>[] {
  const worded = <Value extends string>(
    known: readonly Value[],
    words: Record<Value, string>,
    held?: readonly Option[],
  ) => known.map((value) => ({ value, label: words[value], count: held?.find((one) => one.value === value)?.count }));
  const tiers = [...(facets?.tiers ?? []), { value: "candidate", count: facets?.candidates_left_out ?? 0 }];
  return [
    { type: "choice", key: "tier", label: "Type", options: worded(TIERS, TYPE_LABELS, tiers) },
    {
      type: "choice",
      key: "evidence",
      label: "Rests on",
      options: worded(Object.keys(EVIDENCE) as (keyof typeof EVIDENCE)[], EVIDENCE, facets?.evidence),
      several: true,
    },
    { type: "choice", key: "kind", label: "Kind", options: worded(KINDS, KIND, facets?.kinds) },
    { type: "choice", key: "dataset", label: "Dataset", options: facets?.datasets ?? [] },
    { type: "choice", key: "tag", label: "Tag", options: facets?.tags ?? [], several: true },
    { type: "choice", key: "review", label: "Review", options: worded(REVIEWS, REVIEW, facets?.reviews) },
    { type: "choice", key: "status", label: "Status", options: worded(STATUSES, STATUS) },
    { type: "choice", key: "source", label: "Source", options: facets?.sources ?? [] },
    { type: "text", key: "metadata", label: "Metadata", hint: "release=2026.1", several: true },
    { type: "dates", key: "since", upTo: "until", label: "Made" },
  ];
}

type BulkCasesProps = { cases: readonly Key[]; onClear: () => void };

/** What one can do with the chosen cases at once: tag, move, dismiss, merge; each can be taken back. */
function BulkCases({ cases, onClear }: BulkCasesProps) {
  const changes = useCaseChanges();
  const small = { size: "compact-sm", variant: "default", disabled: changes.busy || cases.length === 0 } as const;
  return (
    <section className={classes.bulk} aria-label="Chosen cases">
      <strong>{plural(cases.length, "case")} chosen</strong>
      <Entry label="Tag" onEnter={(tag) => changes.change(cases, { addTags: [tag] })} disabled={small.disabled} />
      <Entry
        label="Move to dataset"
        onEnter={(dataset) => changes.change(cases, { dataset })}
        disabled={small.disabled}
      />
      <Button {...small} onClick={() => void changes.change(cases, { status: "dismissed" })}>
        Dismiss
      </Button>
      <Button
        {...small}
        disabled={small.disabled || cases.length < 2}
        title="The first of them in the list stays and gets the tags of the others, which are dismissed"
        onClick={() => void changes.merge(cases)}
      >
        Merge repeats
      </Button>
      <Button size="compact-sm" variant="subtle" onClick={onClear}>
        Choose none
      </Button>
      <output>
        {changes.message}{" "}
        {changes.undoable && (
          <Button size="compact-sm" variant="subtle" loading={changes.busy} onClick={() => void changes.undo()}>
            Undo
          </Button>
        )}
      </output>
    </section>
  );
}

type EntryProps = { label: string; disabled: boolean; onEnter: (value: string) => Promise<boolean> };

function Entry({ label, disabled, onEnter }: EntryProps) {
  const [value, setValue] = useState("");
  async function enter() {
    if (value.trim() && (await onEnter(value.trim()))) setValue("");
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void enter();
      }}
    >
      <TextInput
        size="xs"
        w={150}
        aria-label={label}
        placeholder={`${label}…`}
        disabled={disabled}
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
    </form>
  );
}
