/** Import, export, steps, undo: everything about the whole session; whether it is saved, and what to do when it is not. */
import { Button, FileButton } from "@mantine/core";
import { type Dispatch, useRef } from "react";
import { useMay } from "@/api/access";
import desk from "../desk.module.css";
import type { Action, Session } from "./session";
import type { SaveState } from "./useValidator";
import type { CopyState } from "./workspaceCopy";

export type Step = "previous" | "next" | "incomplete";

const STEPS: [Step, string][] = [
  ["previous", "Previous"],
  ["next", "Next"],
  ["incomplete", "Next incomplete"],
];

type ToolbarProps = {
  session: Session;
  save: SaveState;
  copy: CopyState | null;
  dispatch: Dispatch<Action>;
  onFiles: (files: File[]) => void;
  onDialog: (dialog: "export" | "clear") => void;
  onStep: (step: Step) => void;
};

export function Toolbar({ session, save, copy, dispatch, onFiles, onDialog, onStep }: ToolbarProps) {
  const empty = session.order.length === 0;
  const forget = useRef<() => void>(null);
  const [undo, redo] = [session.past.at(-1)?.label, session.future.at(-1)?.label];
  const plain = { size: "xs", variant: "default" } as const;
  return (
    <header className={desk.bar}>
      <h1>Validator</h1>
      <SaveWord save={save} copy={copy} />
      {!empty && (
        <>
          <Button.Group>
            {STEPS.map(([step, label]) => (
              <Button key={step} {...plain} onClick={() => onStep(step)}>
                {label}
              </Button>
            ))}
          </Button.Group>
          <Button.Group>
            <Button {...plain} disabled={!undo} title={undo} onClick={() => dispatch({ type: "undo" })}>
              Undo
            </Button>
            <Button {...plain} disabled={!redo} title={redo} onClick={() => dispatch({ type: "redo" })}>
              Redo
            </Button>
          </Button.Group>
        </>
      )}
      <FileButton
        multiple
        resetRef={forget}
        onChange={(files) => {
          onFiles(files);
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
          <Button size="xs" onClick={() => onDialog("export")}>
            Export
          </Button>
          <Button size="xs" variant="subtle" color="rust" onClick={() => onDialog("clear")}>
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
    <span className={desk.summary} role="status" title={copy?.state === "failed" ? copy.message : undefined}>
      {settled ? `${local}${COPIES[copy.state]}` : local}
    </span>
  );
}

type SaveNoticeProps = { save: SaveState; onTakeOver: () => void; onExport: () => void; onForget: () => void };

/** A save that failed, in words, with what can be done about it. */
export function SaveNotice({ save, onTakeOver, onExport, onForget }: SaveNoticeProps) {
  if (save === "loading" || save === "saving" || save.ok) return null;
  return (
    <div className={desk.notice} data-tone="bad" role="alert">
      <span>{save.message}</span>
      {save.reason === "other tab" && (
        <>
          <Button size="compact-sm" variant="default" onClick={() => window.location.reload()}>
            Reload
          </Button>
          <Button size="compact-sm" variant="default" onClick={onTakeOver}>
            Keep this tab's
          </Button>
        </>
      )}
      {save.reason === "quota" && (
        <Button size="compact-sm" variant="default" onClick={onExport}>
          Export
        </Button>
      )}
      {save.reason === "unreadable" && (
        <Button size="compact-sm" variant="default" onClick={onForget}>
          Clear it
        </Button>
      )}
    </div>
  );
}

const NAMED = 3;

/** Cases that somebody changed in the workspace since this browser saw them: nothing is overwritten unasked. */
export function CopyNotice({ copy, onInsist }: { copy: CopyState | null; onInsist: () => void }) {
  const moderates = useMay("editor");
  if (copy?.state !== "differs") return null;
  const more = copy.keys.length - NAMED;
  const names = `${copy.keys.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return (
    <div className={desk.notice} role="status">
      <span>The workspace has other work on {names}; it is kept there, and yours here. Review shows it.</span>
      {moderates && (
        <Button size="compact-sm" variant="default" onClick={onInsist}>
          Replace it with mine
        </Button>
      )}
    </div>
  );
}
