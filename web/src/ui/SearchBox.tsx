/** A search field that `/` focuses; it reports when the typing pauses, so that a list is not asked for every letter. */
import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { SearchIcon } from "./icons";
import { useShortcuts } from "./shortcuts";

const PAUSE_MS = 250;

type SearchBoxProps = { label: string; hint?: string; value: string; onChange: (value: string) => void };

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
