/** The filters above a list: a search, a panel with everything the list can be narrowed by, and a chip for each that is set. */
import { Button, Popover, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { changed } from "../address";
import { useRemoval } from "../forms";
import { CrossIcon, SearchIcon } from "../icons";
import { useShortcuts } from "../shortcuts";
import { FieldControl } from "./FieldControl";
import classes from "./FilterBar.module.css";
import { chipsOf, type Field } from "./fields";

type FilterBarProps<View> = {
  what: string;
  hint?: string;
  view: View;
  fields: readonly Field<View>[];
  onChange: (next: View) => void;
  note?: ReactNode;
  children?: ReactNode;
};

export function FilterBar<View extends { q?: string }>(props: FilterBarProps<View>) {
  const { what, hint, view, fields, onChange, note, children } = props;
  const [opened, setOpened] = useState(false);
  const chips = chipsOf(view, fields);
  const button = useRef<HTMLButtonElement>(null);
  const removal = useRemoval<HTMLDivElement>(chips.length, "li button", "button");
  function open() {
    button.current?.focus(); // where the focus goes back to
    setOpened(true);
  }
  useShortcuts("Filters", [{ keys: "f", does: "Open the filters", run: open }]);
  return (
    <div className={classes.bar} ref={removal.ref}>
      <div className={classes.row}>
        <SearchBox
          label={`Search ${what}`}
          hint={hint}
          value={view.q ?? ""}
          onChange={(value) => onChange(changed(view, "q", (value || null) as View["q"] | null))}
        />
        <Popover
          opened={opened}
          onChange={setOpened}
          position="bottom-start"
          width="min(680px, calc(100vw - 24px))"
          trapFocus
          returnFocus
          shadow="md"
          withinPortal
        >
          <Popover.Target>
            <Button ref={button} variant="default" onClick={() => setOpened(!opened)} aria-expanded={opened}>
              Filters{chips.length > 0 ? ` (${chips.length})` : ""}
            </Button>
          </Popover.Target>
          <Popover.Dropdown className={classes.panel} aria-label="Filters">
            <div className={classes.fields}>
              {fields.map((field) => (
                <FieldControl key={field.key} field={field} view={view} onChange={onChange} />
              ))}
            </div>
            {note && <p className={classes.note}>{note}</p>}
          </Popover.Dropdown>
        </Popover>
        {children}
      </div>
      {chips.length > 0 && (
        <ul className={classes.chips} aria-label="Filters that are set">
          {chips.map((chip, at) => (
            <li key={chip.text}>
              <button
                type="button"
                className={classes.chip}
                aria-label={`Remove the filter ${chip.text}`}
                onClick={() => {
                  removal.removing(at);
                  onChange(chip.without);
                }}
              >
                <span dir="auto">{chip.text}</span>
                <CrossIcon size={12} />
              </button>
            </li>
          ))}
          <li>
            <button type="button" className={classes.clear} onClick={() => onChange(cleared(view, fields))}>
              Clear
            </button>
          </li>
        </ul>
      )}
    </div>
  );
}

/** The view without its filters; columns and order stay. */
function cleared<View extends object>(view: View, fields: readonly Field<View>[]): View {
  const keys = fields.flatMap((field) => ("upTo" in field ? [field.key, field.upTo] : [field.key]));
  return Object.fromEntries(
    Object.entries(view).filter(([key]) => key !== "q" && !keys.includes(key as never)),
  ) as View;
}

const PAUSE_MS = 250;

type SearchBoxProps = { label: string; hint?: string; value: string; onChange: (value: string) => void };

/** A search field that `/` focuses; it reports when the typing pauses, so that a list is not asked for every letter. */
export function SearchBox({ label, hint, value, onChange }: SearchBoxProps) {
  const [typed, setTyped] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  const report = useDebouncedCallback(onChange, PAUSE_MS);
  useEffect(() => setTyped(value), [value]);
  useShortcuts("Search", [{ keys: "/", does: label, run: () => field.current?.focus() }]);
  return (
    <TextInput
      ref={field}
      type="search"
      aria-label={label}
      placeholder={label}
      title={hint}
      leftSection={<SearchIcon size={16} />}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        report(event.currentTarget.value.trim());
      }}
      onKeyDown={(event) => event.key === "Escape" && field.current?.blur()}
      style={{ flex: "1 0 200px", maxWidth: 360 }}
    />
  );
}
