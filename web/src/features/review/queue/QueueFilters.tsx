/** Narrowing the queue, and views worth keeping. */
import { Button, CloseButton, SegmentedControl, TextInput } from "@mantine/core";
import { useState } from "react";
import { FilterBar } from "@/ui/filterbar/FilterBar";
import type { Field } from "@/ui/filterbar/fields";
import { useShortcuts } from "@/ui/shortcuts";
import { useDeleteView, useFacets, useSaveView, useViews } from "./data";
import classes from "./list.module.css";
import { filtersOf, KINDS, type PARTS, type QueueView, REVIEWS, STANDINGS, STATUSES, TYPES, viewOf } from "./view";

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
    <div className={classes.filters}>
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label="Part of the queue"
        data={TABS}
        value={tab}
        onChange={(next) => setTab(next)}
      />
      <FilterBar what="the queue" view={view} fields={fields} onChange={onView} />
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
  const views = useViews();
  const save = useSaveView();
  const drop = useDeleteView();
  return (
    <div className={classes.views}>
      {(views.data ?? []).map((saved) => (
        <span key={saved.name} className={classes.view}>
          <Button size="compact-xs" variant="default" onClick={() => onView(viewOf(saved.query ?? {}))}>
            {saved.name}
          </Button>
          <CloseButton size="xs" aria-label={`Delete the view ${saved.name}`} onClick={() => drop.mutate(saved.name)} />
        </span>
      ))}
      {naming ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim()) save.mutate({ name: name.trim(), filters: filtersOf(view) });
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
