/** Views of a list that are kept under a name for everybody, and a name for the one that is shown; its order and columns. */
import { Button, Checkbox, Popover, Select, Stack, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay, useMayChange } from "@/api/access";
import { api, type Schemas, unwrap } from "@/api/client";
import { useRemoval } from "../forms";
import classes from "./FilterBar.module.css";

type Page = Schemas["ListPage"];

/** The views that are kept of a list, and how one is kept under a name and removed. */
export function useKeptViews(page: Page) {
  const client = useQueryClient();
  const onSuccess = () => client.invalidateQueries({ queryKey: ["views", page] });
  const views = useQuery({
    queryKey: ["views", page],
    queryFn: () => unwrap(api.GET("/api/v1/views", { params: { query: { page } } })),
  });
  const keep = useMutation({
    mutationFn: (view: { name: string; address: string }) =>
      unwrap(api.PUT("/api/v1/views", { body: { page, owner: "", ...view } })),
    onSuccess,
  });
  const remove = useMutation({
    mutationFn: (name: string) => unwrap(api.DELETE("/api/v1/views", { params: { query: { page, name } } })),
    onSuccess,
  });
  return { views, keep, remove };
}

export function Views({ page }: { page: Page }) {
  const navigate = useNavigate();
  const mayKeep = useMay("reviewer");
  const mayChange = useMayChange();
  const [opened, setOpened] = useState(false);
  const [name, setName] = useState("");
  const { views, keep, remove } = useKeptViews(page);
  const { ref, removing } = useRemoval<HTMLDivElement>(views.data?.length ?? 0, "[data-remove]", "input");
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" shadow="md" width={300} trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" onClick={() => setOpened(!opened)}>
          Views
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Views" ref={ref}>
        {views.data?.length === 0 && <p className={classes.none}>No view is saved yet.</p>}
        <ul className={classes.views}>
          {views.data?.map((view, at) => (
            <li key={view.name}>
              <button
                type="button"
                className={classes.view}
                dir="auto"
                onClick={() => {
                  setOpened(false);
                  void navigate({ href: `/${page}?${view.address}` });
                }}
              >
                {view.name}
              </button>
              {mayChange(view.owner) && (
                <button
                  type="button"
                  className={classes.remove}
                  aria-label={`Delete the view ${view.name}`}
                  data-remove
                  onClick={() => {
                    removing(at);
                    remove.mutate(view.name);
                  }}
                >
                  Delete
                </button>
              )}
            </li>
          ))}
        </ul>
        {mayKeep && (
          <form
            className={classes.keep}
            onSubmit={(event) => {
              event.preventDefault();
              const view = { name: name.trim(), address: window.location.search.slice(1) };
              if (view.name) keep.mutate(view, { onSuccess: () => setName("") });
            }}
          >
            <TextInput
              flex={1}
              aria-label="Name of this view"
              placeholder="Name of this view"
              value={name}
              error={keep.error?.message}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Button type="submit" disabled={!name.trim()} loading={keep.isPending}>
              Save
            </Button>
          </form>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

/** How a list is shown: which columns, and in which order. */
type Order = { value: string; label: string };

type OrderPickerProps = {
  orders: readonly Order[];
  value: string | undefined;
  onChange: (value: string | null) => void;
};

export function OrderPicker({ orders, value, onChange }: OrderPickerProps) {
  return (
    <Select
      aria-label="Order"
      w={170}
      data={[...orders]}
      allowDeselect={false}
      value={value ?? orders[0]?.value ?? null}
      onChange={(next) => onChange(next === orders[0]?.value ? null : next)}
    />
  );
}

type ColumnPickerProps = {
  columns: readonly { id: string; label: string }[];
  shown: readonly string[];
  onChange: (next: string[]) => void;
};

export function ColumnPicker({ columns, shown, onChange }: ColumnPickerProps) {
  const toggle = (id: string, on: boolean) =>
    onChange(columns.map((column) => column.id).filter((each) => (each === id ? on : shown.includes(each))));
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default">Columns</Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns" mah="60dvh" style={{ overflowY: "auto" }}>
        <Stack gap={8}>
          {columns.map(({ id, label }) => (
            <Checkbox
              key={id}
              label={label}
              checked={shown.includes(id)}
              onChange={(event) => toggle(id, event.currentTarget.checked)}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
