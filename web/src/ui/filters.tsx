/** The filters above a list: a search, and fields that are one of a few known values, one of many, or a word. */
import { Button, Select, type SelectProps, TextInput } from "@mantine/core";
import { changed } from "./address";
import { SearchBox } from "./SearchBox";

/** A part of the view that can be set: with `words` for its known values, with the values alone, or as a free word. */
export type FilterField<View> = {
  key: keyof View & string;
  label: string;
  known?: readonly string[];
  words?: Record<string, string>;
};

type FilterRowProps<View> = {
  what: string;
  hint?: string;
  view: View;
  fields: readonly FilterField<View>[];
  onChange: (next: View) => void;
};

/** Each change is a new view; an empty value takes its part away. */
export function FilterRow<View extends { q?: string }>({ what, hint, view, fields, onChange }: FilterRowProps<View>) {
  const set = (key: keyof View, value: string | null) => onChange(changed(view, key, value as View[keyof View] | null));
  return (
    <>
      <SearchBox label={`Search ${what}`} hint={hint} value={view.q ?? ""} onChange={(value) => set("q", value)} />
      {fields.map(({ key, label, known, words }) => {
        const shared = {
          label,
          value: view[key] as string | undefined,
          onChange: (value: string | null) => set(key, value),
        };
        if (known === undefined) return <Word key={key} {...shared} />;
        return words ? (
          <Choice key={key} known={known} words={words} {...shared} />
        ) : (
          <Pick key={key} known={known} {...shared} />
        );
      })}
      <ClearFilters active={Object.keys(view).length > 0} onClear={() => onChange({} as View)} />
    </>
  );
}

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
