/** How a list is shown: which columns, and in which order. */
import { Button, Checkbox, Popover, Select, Stack } from "@mantine/core";

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
