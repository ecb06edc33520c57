/** How a list is shown: which columns, in which order, and views kept under a name for everybody. */
import { Button, Checkbox, Group, Menu, Popover, Select, Stack, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { api, type Schemas, unwrap } from "@/api/client";
import { reviewerName } from "@/api/reviewer";
import { useRemoval } from "../removal";

type Page = Schemas["ListPage"];
export type Order = { value: string; label: string };

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

/** The views of a list, and a name for the one that is shown. */
export function Views({ page }: { page: Page }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const mayKeep = useMay("reviewer");
  const [name, setName] = useState("");
  const views = useQuery({
    queryKey: ["views", page],
    queryFn: () => unwrap(api.GET("/api/v1/views", { params: { query: { page } } })),
  });
  const { ref, removing } = useRemoval<HTMLDivElement>(views.data?.length ?? 0, "[data-remove]", "input");
  const renew = () => client.invalidateQueries({ queryKey: ["views", page] });
  const keep = useMutation({
    mutationFn: () => {
      const body = { page, name: name.trim(), address: window.location.search.slice(1), owner: "" };
      return unwrap(api.PUT("/api/v1/views", { headers: { "x-evergold-reviewer": reviewerName() }, body }));
    },
    onSuccess: () => {
      setName("");
      void renew();
    },
  });
  const remove = useMutation({
    mutationFn: (gone: string) => unwrap(api.DELETE("/api/v1/views", { params: { query: { page, name: gone } } })),
    onSuccess: renew,
  });
  return (
    <Menu position="bottom-end" shadow="md" closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="default">Views</Button>
      </Menu.Target>
      <Menu.Dropdown w={280} ref={ref}>
        {views.data?.length === 0 && <Menu.Label>No view is kept yet</Menu.Label>}
        {views.data?.map((view, at) => (
          <Group key={view.name} gap={0} wrap="nowrap">
            <Menu.Item flex={1} onClick={() => void navigate({ href: `/${page}?${view.address}` })}>
              {view.name}
            </Menu.Item>
            {mayKeep && (
              <Menu.Item
                w={70}
                c="dimmed"
                aria-label={`Delete the view ${view.name}`}
                data-remove
                onClick={() => {
                  removing(at);
                  remove.mutate(view.name);
                }}
              >
                Delete
              </Menu.Item>
            )}
          </Group>
        ))}
        {mayKeep && (
          <>
            <Menu.Divider />
            <Group gap={8} p={8} wrap="nowrap">
              <TextInput
                flex={1}
                aria-label="Name of this view"
                placeholder="Name of this view"
                value={name}
                error={keep.error?.message}
                onKeyDown={(event) => event.stopPropagation()}
                onChange={(event) => setName(event.currentTarget.value)}
              />
              <Button disabled={!name.trim()} loading={keep.isPending} onClick={() => keep.mutate()}>
                Keep
              </Button>
            </Group>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
