/** The list beside the desk: narrowing the queue, views worth keeping, its cases, and one action on many of them. */
import { Button, CloseButton, NativeSelect, SegmentedControl, TextInput } from "@mantine/core";
import { useState } from "react";
import { useMayChange, useMe } from "@/api/access";
import { FilterBar } from "@/ui/filterbar/FilterBar";
import type { Field } from "@/ui/filterbar/fields";
import { useKeptViews } from "@/ui/filterbar/Views";
import { useShortcuts } from "@/ui/shortcuts";
import { CaseList, CaseRow, StateMark } from "../desk";
import desk from "../desk.module.css";
import { assign, type Key, type QueueItem, sayMany, useFacets, useRefresh, type Verdict } from "./data";
import classes from "./queue.module.css";
import {
  addressOf,
  KINDS,
  type PARTS,
  type QueueView,
  REVIEWS,
  readQueueView,
  STANDINGS,
  STATUSES,
  TYPES,
} from "./view";

type QueueFiltersProps = { view: QueueView; onView: (view: QueueView) => void };
type Part = (typeof PARTS)[number];

const TABS: { value: Part | "all"; label: string }[] = [
  { value: "all", label: "All" },
  { value: "mine", label: "Mine" },
  { value: "others", label: "Others’" },
  { value: "done", label: "Done by me" },
];
const worded = (values: readonly string[]) => values.map((value) => ({ value, label: value.replace("_", " ") }));

export function QueueFilters({ view, onView }: QueueFiltersProps) {
  const fields = useFields();
  const tab = view.part && view.part !== "nobodys" ? view.part : "all";
  const setTab = (next: string) => onView({ ...view, part: next === "all" ? undefined : (next as Part) });
  useShortcuts("Queue parts", [
    {
      keys: "t",
      does: "Next part: all, mine, others’, done by me",
      run: () => setTab(TABS[(TABS.findIndex(({ value }) => value === tab) + 1) % TABS.length]?.value ?? "all"),
    },
  ]);
  return (
    <div className={desk.filters}>
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label="Part of the queue"
        data={TABS}
        value={tab}
        onChange={(next) => setTab(next)}
      />
      <FilterBar what="the queue" view={view} fields={fields} onChange={onView} />
      <NativeSelect
        size="xs"
        aria-label="Order"
        data={[
          { value: "", label: "Oldest first" },
          { value: "value", label: "Most worth reviewing" },
        ]}
        value={view.order ?? ""}
        onChange={(event) => onView({ ...view, order: event.currentTarget.value === "value" ? "value" : undefined })}
      />
      <KeptViews view={view} onView={onView} />
    </div>
  );
}

function useFields(): Field<QueueView>[] {
  const { data: facets } = useFacets();
  return [
    { type: "choice", key: "set", label: "Dataset", options: facets?.datasets ?? [] },
    { type: "choice", key: "type", label: "Type", options: worded(TYPES) },
    { type: "choice", key: "kind", label: "Kind", options: worded(KINDS) },
    { type: "choice", key: "tag", label: "Tag", options: facets?.tags ?? [] },
    { type: "choice", key: "source", label: "Source", options: facets?.sources ?? [] },
    { type: "choice", key: "check", label: "Failed check", options: facets?.checks ?? [] },
    { type: "choice", key: "standing", label: "Opinions", options: worded(STANDINGS) },
    { type: "choice", key: "review", label: "Review", options: worded(REVIEWS) },
    { type: "choice", key: "status", label: "Status", options: worded(STATUSES) },
    { type: "text", key: "reviewer", label: "In the hands of", hint: "name of a reviewer" },
  ];
}

function KeptViews({ view, onView }: QueueFiltersProps) {
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const { views, keep, remove } = useKeptViews("review");
  const mayChange = useMayChange();
  return (
    <div className={classes.views}>
      {(views.data ?? []).map((saved) => (
        <span key={saved.name} className={classes.view}>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => onView(readQueueView(Object.fromEntries(new URLSearchParams(saved.address))))}
          >
            {saved.name}
          </Button>
          {mayChange(saved.owner) && (
            <CloseButton
              size="xs"
              aria-label={`Delete the view ${saved.name}`}
              onClick={() => remove.mutate(saved.name)}
            />
          )}
        </span>
      ))}
      {naming ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim()) keep.mutate({ name: name.trim(), address: addressOf(view) });
            setNaming(false);
          }}
        >
          <TextInput
            size="xs"
            aria-label="Name of the view"
            autoFocus
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        </form>
      ) : (
        <Button size="compact-xs" variant="subtle" onClick={() => setNaming(true)}>
          Save this view
        </Button>
      )}
    </div>
  );
}

export const nameOf = ({ dataset, id }: Key) => `${dataset}\u0000${id}`;

type QueueListProps = {
  items: QueueItem[];
  current: Key | null;
  chosen: ReadonlySet<string>;
  onSelect: (item: QueueItem) => void;
  onChoose: (item: QueueItem) => void;
  onMore: () => void;
};

/** The queue as a list. A row is one stop of the Tab key: its checkbox is for the mouse, and x chooses the open case. */
export function QueueList({ items, current, chosen, onSelect, onChoose, onMore }: QueueListProps) {
  const here = current === null ? null : nameOf(current);
  return (
    <CaseList rows={items} keyOf={nameOf} current={here} onEnd={onMore}>
      {(item) => (
        <>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-keyshortcuts="x"
            aria-label={`Choose ${item.id}`}
            checked={chosen.has(nameOf(item))}
            onChange={() => onChoose(item)}
          />
          <CaseRow
            mark={<StateMark state={stateOf(item)} />}
            title={item.title || "no input"}
            facts={`${item.why ?? `${item.kind} · ${item.entry_type} · ${item.id}`}${item.held_by.length > 0 ? ` · with ${item.held_by.join(", ")}` : ""}`}
            here={nameOf(item) === here}
            onSelect={() => onSelect(item)}
          />
        </>
      )}
    </CaseList>
  );
}

function stateOf({ review, status, standing }: QueueItem) {
  if (review === "validated") return "validated";
  if (status === "dismissed") return "dismissed";
  return standing === "disputed" || standing === "second_opinion" ? standing : "waiting";
}

/** The field that the key `i` leads to. */
export const ASSIGN_FIELD = "assign-to";

type BulkBarProps = { items: QueueItem[]; onDone: () => void };
type Done = { verdict: Verdict; cases: { dataset: string; id: string; version: number }[]; errors: string[] };

/** One verdict on every chosen case, with an undo. What could not be done is listed. */
export function BulkBar({ items, onDone }: BulkBarProps) {
  const [done, setDone] = useState<Done | null>(null);
  const [reviewer, setReviewer] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const me = useMe();
  const refresh = useRefresh();

  /** Does the work, or shows why it could not be done; the choice stays as it was then. */
  async function attempt(work: () => Promise<void>) {
    try {
      await work();
      setProblem(null);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    await refresh();
  }

  const say = (verdict: Verdict) =>
    attempt(async () => {
      const results = await sayMany(items, verdict);
      setDone({
        verdict,
        cases: results.filter((result) => result.error === null),
        errors: results.flatMap((result) => (result.error === null ? [] : [result.error as string])),
      });
      onDone();
    });

  const undo = () =>
    attempt(async () => {
      if (done === null) return;
      await sayMany(done.cases, "withdraw");
      setDone(null);
    });

  const give = (to: string) =>
    attempt(async () => {
      await assign(items, to);
      onDone();
    });

  if (items.length === 0 && done === null) return null;
  return (
    <div className={classes.bulk} role="status">
      {problem && <span role="alert">{problem}</span>}
      {items.length > 0 && (
        <>
          <span>{items.length} chosen</span>
          <Button size="compact-xs" variant="default" onClick={() => void say("approve")}>
            Approve {items.length}
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => void say("dismiss")}>
            Dismiss {items.length}
          </Button>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (reviewer.trim()) void give(reviewer.trim());
            }}
          >
            <TextInput
              id={ASSIGN_FIELD}
              size="xs"
              list="known-reviewers"
              aria-label="Assign to"
              placeholder="Assign to…"
              value={reviewer}
              onChange={(event) => setReviewer(event.currentTarget.value)}
            />
            <datalist id="known-reviewers">
              {(me.data?.reviewers ?? []).map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </form>
        </>
      )}
      {done !== null && (
        <>
          <span>
            {done.cases.length} {done.verdict === "approve" ? "approved" : "dismissed"}
            {done.errors.length > 0 && `, ${done.errors.length} not: ${done.errors[0]}`}
          </span>
          {done.cases.length > 0 && (
            <Button size="compact-xs" variant="default" onClick={() => void undo()}>
              Undo
            </Button>
          )}
          <Button size="compact-xs" variant="subtle" onClick={() => setDone(null)}>
            Close
          </Button>
        </>
      )}
    </div>
  );
}
