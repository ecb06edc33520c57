/** The two kinds of filter a list has: one of a few known values, or a word. */
import { Select, TextInput } from "@mantine/core";

type ChoiceProps<Value extends string> = {
  label: string;
  known: readonly Value[];
  words: Record<Value, string>;
  value: Value | undefined;
  onChange: (value: Value | null) => void;
};

export function Choice<Value extends string>({ label, known, words, value, onChange }: ChoiceProps<Value>) {
  return (
    <Select
      aria-label={label}
      placeholder={label}
      w={117}
      clearable
      data={known.map((each) => ({ value: each, label: words[each] }))}
      value={value ?? null}
      onChange={(next) => onChange(next as Value | null)}
      comboboxProps={{ width: 190, position: "bottom-start" }}
    />
  );
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
  return (
    <Select
      aria-label={label}
      placeholder={label}
      w={117}
      clearable
      searchable
      limit={100}
      nothingFoundMessage="none"
      data={value && !known.includes(value) ? [value, ...known] : [...known]}
      value={value ?? null}
      onChange={onChange}
      comboboxProps={{ width: 220, position: "bottom-start" }}
    />
  );
}
