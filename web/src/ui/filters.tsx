/** The filters a list has: one of a few known values, one of many, or a word. */
import { Button, Select, type SelectProps, TextInput } from "@mantine/core";

type ChoiceProps<Value extends string> = {
  label: string;
  known: readonly Value[];
  words: Record<Value, string>;
  value: Value | undefined;
  onChange: (value: Value | null) => void;
};

export function Choice<Value extends string>({ label, known, words, value, onChange }: ChoiceProps<Value>) {
  const data = known.map((each) => ({ value: each, label: words[each] }));
  return <Dropdown label={label} data={data} value={value} onChange={(next) => onChange(next as Value | null)} />;
}

type WordProps = { label: string; value: string | undefined; onChange: (value: string) => void };

export function Word({ label, value, onChange }: WordProps) {
  return (
    <TextInput
      key={value}
      aria-label={label}
      placeholder={label}
      w={112}
      defaultValue={value ?? ""}
      onBlur={(event) =>
        event.currentTarget.value.trim() !== (value ?? "") && onChange(event.currentTarget.value.trim())
      }
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}

type PickProps = {
  label: string;
  known: readonly string[];
  value: string | undefined;
  onChange: (value: string | null) => void;
};

/** One of many known values, found by typing. A value that is not (or no longer) known stays visible. */
export function Pick({ label, known, value, onChange }: PickProps) {
  const data = value && !known.includes(value) ? [value, ...known] : [...known];
  return <Dropdown label={label} data={data} value={value} onChange={onChange} searchable />;
}

type DropdownProps = Omit<PickProps, "known"> & { data: SelectProps["data"]; searchable?: boolean };

function Dropdown({ label, value, ...rest }: DropdownProps) {
  return (
    <Select
      aria-label={label}
      placeholder={label}
      w={117}
      clearable
      limit={100}
      nothingFoundMessage="none"
      value={value ?? null}
      comboboxProps={{ width: 220, position: "bottom-start" }}
      {...rest}
    />
  );
}

/** The way to take every filter away, shown while there is one. */
export function ClearFilters({ active, onClear }: { active: boolean; onClear: () => void }) {
  return active ? (
    <Button variant="subtle" onClick={onClear}>
      Clear
    </Button>
  ) : null;
}
