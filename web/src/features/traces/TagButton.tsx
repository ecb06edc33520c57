/** A button that asks for a tag, and puts it on with Enter. */
import { Button, Popover, TextInput } from "@mantine/core";
import { useState } from "react";

export function TagButton({ busy, onTag }: { busy: boolean; onTag: (tag: string) => Promise<string> }) {
  const [opened, setOpened] = useState(false);
  const [tag, setTag] = useState("");
  const [problem, setProblem] = useState("");
  async function put() {
    const wrong = await onTag(tag.trim());
    setProblem(wrong);
    if (wrong) return;
    setTag("");
    setOpened(false);
  }
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus returnFocus shadow="md">
      <Popover.Target>
        <Button size="compact-sm" variant="default" disabled={busy} onClick={() => setOpened(!opened)}>
          Tag…
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Tag">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (tag.trim()) void put();
          }}
        >
          <TextInput
            data-autofocus
            label="Tag"
            description="Enter puts it on."
            value={tag}
            error={problem}
            maxLength={200}
            onChange={(event) => setTag(event.currentTarget.value)}
          />
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
