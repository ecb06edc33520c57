/** Import, export, steps, undo: everything about the whole session, and whether it is saved. */
import { Button, FileButton } from "@mantine/core";
import { useRef } from "react";
import classes from "./page.module.css";
import type { SaveState } from "./useValidator";
import type { CopyState } from "./workspaceCopy";

type ToolbarProps = {
  empty: boolean;
  save: SaveState;
  copy: CopyState | null;
  undo: string | null;
  redo: string | null;
  onFiles: (files: File[]) => void;
  onExport: () => void;
  onClear: () => void;
  onStep: (step: "previous" | "next" | "incomplete") => void;
  onUndo: () => void;
  onRedo: () => void;
};

export function Toolbar(props: ToolbarProps) {
  const { empty, undo, redo } = props;
  const forget = useRef<() => void>(null);
  return (
    <header className={classes.bar}>
      <h1>Validator</h1>
      <SaveWord save={props.save} copy={props.copy} />
      {!empty && (
        <>
          <Button.Group>
            <Button size="xs" variant="default" onClick={() => props.onStep("previous")}>
              Previous
            </Button>
            <Button size="xs" variant="default" onClick={() => props.onStep("next")}>
              Next
            </Button>
            <Button size="xs" variant="default" onClick={() => props.onStep("incomplete")}>
              Next incomplete
            </Button>
          </Button.Group>
          <Button.Group>
            <Button
              size="xs"
              variant="default"
              disabled={undo === null}
              title={undo ?? undefined}
              onClick={props.onUndo}
            >
              Undo
            </Button>
            <Button
              size="xs"
              variant="default"
              disabled={redo === null}
              title={redo ?? undefined}
              onClick={props.onRedo}
            >
              Redo
            </Button>
          </Button.Group>
        </>
      )}
      <FileButton
        multiple
        resetRef={forget}
        onChange={(files) => {
          props.onFiles(files);
          forget.current?.(); // or choosing the same file again would be no change
        }}
        accept=".jsonl,.ndjson,.json,.txt"
      >
        {(button) => (
          <Button size="xs" variant={empty ? "filled" : "default"} {...button}>
            Import
          </Button>
        )}
      </FileButton>
      {!empty && (
        <>
          <Button size="xs" onClick={props.onExport}>
            Export
          </Button>
          <Button size="xs" variant="subtle" color="rust" onClick={props.onClear}>
            Clear all
          </Button>
        </>
      )}
    </header>
  );
}

const COPIES: Record<CopyState["state"], string> = {
  copied: " and in the workspace",
  sending: ", sending to the workspace…",
  differs: "; the workspace differs",
  failed: "; the workspace did not take it",
};

function SaveWord({ save, copy }: { save: SaveState; copy: CopyState | null }) {
  const local =
    save === "loading" ? "Loading…" : save === "saving" ? "Saving…" : save.ok ? "Saved in this browser" : "Not saved";
  const settled = typeof save === "object" && save.ok && copy !== null;
  return (
    <span className={classes.saved} role="status" title={copy?.state === "failed" ? copy.message : undefined}>
      {settled ? `${local}${COPIES[copy.state]}` : local}
    </span>
  );
}
