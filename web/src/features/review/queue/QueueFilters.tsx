/** Narrowing the queue, and views worth keeping. */
import { Button, CloseButton, NativeSelect, TextInput } from "@mantine/core";
import { type RefObject, useState } from "react";
import { useDeleteView, useSaveView, useViews } from "./data";
import classes from "./queue.module.css";
import { filtersOf, KINDS, type QueueView, REVIEWS, STANDINGS, STATUSES, viewOf } from "./view";

type QueueFiltersProps = {
  view: QueueView;
  searchRef: RefObject<HTMLInputElement | null>;
  onView: (view: QueueView) => void;
};

const CHOICES = { kind: KINDS, standing: STANDINGS, review: REVIEWS, status: STATUSES.slice(1) } as const;

export function QueueFilters({ view, searchRef, onView }: QueueFiltersProps) {
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const views = useViews();
  const save = useSaveView();
  const drop = useDeleteView();
  return (
    <div className={classes.filters}>
      <TextInput
        ref={searchRef}
        size="xs"
        aria-label="Search the queue"
        placeholder="Search"
        value={view.q ?? ""}
        onChange={(event) => onView({ ...view, q: event.currentTarget.value || undefined })}
      />
      <div className={classes.choices}>
        {(Object.keys(CHOICES) as (keyof typeof CHOICES)[]).map((field) => (
          <NativeSelect
            key={field}
            size="xs"
            aria-label={field}
            data={[
              { value: "", label: field === "status" ? "active" : `any ${field}` },
              ...CHOICES[field].map((value) => ({ value, label: value.replace("_", " ") })),
            ]}
            value={view[field] ?? ""}
            onChange={(event) => onView({ ...view, [field]: event.currentTarget.value || undefined })}
          />
        ))}
      </div>
      <div className={classes.views}>
        {(views.data ?? []).map((saved) => (
          <span key={saved.name} className={classes.view}>
            <Button size="compact-xs" variant="default" onClick={() => onView(viewOf(saved.query ?? {}))}>
              {saved.name}
            </Button>
            <CloseButton
              size="xs"
              aria-label={`Delete the view ${saved.name}`}
              onClick={() => drop.mutate(saved.name)}
            />
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
    </div>
  );
}
