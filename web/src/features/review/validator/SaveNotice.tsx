/** A save that failed, in words, with what can be done about it. */
import { Button } from "@mantine/core";
import classes from "./page.module.css";
import type { SaveState } from "./useValidator";
import type { CopyState } from "./workspaceCopy";

type SaveNoticeProps = { save: SaveState; onTakeOver: () => void; onExport: () => void; onForget: () => void };

export function SaveNotice({ save, onTakeOver, onExport, onForget }: SaveNoticeProps) {
  if (save === "loading" || save === "saving" || save.ok) return null;
  return (
    <div className={classes.notice} data-tone="bad" role="alert">
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
  if (copy?.state !== "differs") return null;
  const more = copy.keys.length - NAMED;
  const names = `${copy.keys.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return (
    <div className={classes.notice} role="status">
      <span>The workspace has other work on {names}; it is kept there, and yours here. Review shows it.</span>
      <Button size="compact-sm" variant="default" onClick={onInsist}>
        Replace it with mine
      </Button>
    </div>
  );
}
