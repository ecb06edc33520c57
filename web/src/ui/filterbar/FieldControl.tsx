/** One filter in the panel: a list of values with counts, words, or a number or moment from and to. */
import { MultiSelect, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { changed } from "../address";
import { count } from "../format";
import classes from "./FilterBar.module.css";
import {
  type ChoiceField,
  type DatesField,
  type Field,
  NOT_RECORDED,
  nonEmpty,
  type RangeField,
  type TextField,
} from "./fields";

type ControlProps<View, Kind = Field<View>> = { field: Kind; view: View; onChange: (next: View) => void };

export function FieldControl<View extends object>({ field, view, onChange }: ControlProps<View>) {
  if (field.type === "choice") return <Choice field={field} view={view} onChange={onChange} />;
  if (field.type === "text") return <Words field={field} view={view} onChange={onChange} />;
  if (field.type === "range") return <Range field={field} view={view} onChange={onChange} />;
  return <Dates field={field} view={view} onChange={onChange} />;
}

const within = { withinPortal: false };

function Choice<View extends object>({ field, view, onChange }: ControlProps<View, ChoiceField<View>>) {
  const held = view[field.key];
  const values = (held === undefined ? [] : Array.isArray(held) ? held : [held]) as string[];
  const unlisted = values.filter((value) => !field.options.some((option) => option.value === value));
  const data = [
    ...field.options,
    ...unlisted.map((value) => ({ value, label: value || NOT_RECORDED, count: undefined })),
  ].map(({ value, label, count: number }) => ({
    value,
    label: number === undefined ? (label ?? value) : `${label ?? value} · ${count(number)}`,
  }));
  const set = (next: string[] | string | null) =>
    onChange(changed(view, field.key, next as View[typeof field.key] | null));
  const shared = {
    label: field.label,
    data,
    searchable: true,
    clearable: true,
    openOnFocus: false,
    limit: 100,
    comboboxProps: within,
  };
  const clear = {
    clearButtonProps: { "aria-label": `Clear ${field.label}` },
    nothingFoundMessage: "none in this list",
  };
  return field.several ? (
    <MultiSelect {...shared} {...clear} value={values} onChange={(next) => set(nonEmpty(next))} />
  ) : (
    <Select {...shared} {...clear} value={values[0] ?? null} onChange={set} placeholder="any" />
  );
}

function Words<View extends object>({ field, view, onChange }: ControlProps<View, TextField<View>>) {
  const held = view[field.key];
  if (field.several) {
    return (
      <TagsInput
        label={field.label}
        placeholder={field.hint}
        value={(held as string[] | undefined) ?? []}
        onChange={(next) => onChange(changed(view, field.key, nonEmpty(next) as View[typeof field.key] | null))}
        clearButtonProps={{ "aria-label": `Clear ${field.label}` }}
      />
    );
  }
  return (
    <TextInput
      key={String(held)}
      label={field.label}
      placeholder={field.hint}
      defaultValue={(held as string | undefined) ?? ""}
      onBlur={(event) => {
        const typed = event.currentTarget.value.trim();
        if (typed !== ((held as string | undefined) ?? ""))
          onChange(changed(view, field.key, (typed || null) as View[typeof field.key] | null));
      }}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}

function Range<View extends object>({ field, view, onChange }: ControlProps<View, RangeField<View>>) {
  const scale = field.scale ?? 1;
  const bound = (key: keyof View & string, words: string) => (
    <NumberInput
      key={`${key} ${String(view[key])}`}
      aria-label={`${field.label} ${words}`}
      placeholder={words}
      min={0}
      step={field.step ?? 1}
      hideControls
      defaultValue={view[key] === undefined ? "" : Number(view[key]) / scale}
      onBlur={(event) => {
        const typed = event.currentTarget.value.trim();
        const next = typed === "" ? null : scale === 1 ? Number(typed) : Math.round(Number(typed) * scale);
        if ((next ?? undefined) !== view[key]) onChange(bounded(view, key, next));
      }}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
  return (
    <Pair label={field.label}>
      {bound(field.key, "from")}
      {bound(field.upTo, "up to")}
    </Pair>
  );
}

/** A bound of zero is a bound, where an empty word is none. */
function bounded<View extends object>(view: View, key: keyof View & string, next: number | null): View {
  const { [key]: _, ...rest } = view;
  return (next === null ? rest : { ...rest, [key]: next }) as View;
}

function Dates<View extends object>({ field, view, onChange }: ControlProps<View, DatesField<View>>) {
  const bound = (key: keyof View & string, words: string) => (
    <TextInput
      type="datetime-local"
      aria-label={`${field.label} ${words}`}
      value={(view[key] as string | undefined) ?? ""}
      onChange={(event) => onChange(changed(view, key, (event.currentTarget.value || null) as View[typeof key] | null))}
    />
  );
  return (
    <Pair label={field.label} wide>
      {bound(field.key, "from")}
      {bound(field.upTo, "up to")}
    </Pair>
  );
}

/** Two bounds beside each other; moments are wide, so they get a row of their own. */
function Pair({ label, wide, children }: { label: string; wide?: boolean; children: React.ReactNode }) {
  return (
    <fieldset className={classes.pair} data-wide={wide}>
      <legend>{label}</legend>
      <div>{children}</div>
    </fieldset>
  );
}
