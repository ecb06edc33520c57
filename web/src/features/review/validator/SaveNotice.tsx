/** A save that failed, in words, with what can be done about it. */
import { Button } from "@mantine/core";
import type { SaveState } from "./useValidator";
import classes from "./validator.module.css";

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
