/** The two validated files, and every case that is not in them with what it lacks. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { Dialog } from "@/ui/forms";
import dialogs from "./dialogs.module.css";
import { EXPORT_NAMES, exportSession } from "./exportRows";
import classes from "./page.module.css";
import type { Session } from "./session";

function download(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

type ExportDialogProps = { session: Session; onClose: () => void; onGo: (key: string) => void };

export function ExportDialog({ session, onClose, onGo }: ExportDialogProps) {
  const { a, b, counts, leftOut } = useMemo(() => exportSession(session), [session]);
  return (
    <Dialog onClose={onClose} title="Export validated rows" size="lg">
      <Stack gap="md">
        <Group>
          <Button disabled={counts.a === 0} onClick={() => download(EXPORT_NAMES.a, a)} data-autofocus>
            Download A ({counts.a} rows)
          </Button>
          <Button disabled={counts.b === 0} onClick={() => download(EXPORT_NAMES.b, b)}>
            Download B ({counts.b} rows)
          </Button>
        </Group>
        {leftOut.length === 0 ? (
          <Text size="sm">Every case is in.</Text>
        ) : (
          <section aria-label="Left out">
            <Text size="sm" fw={600}>
              {leftOut.length} {leftOut.length === 1 ? "case is" : "cases are"} left out
            </Text>
            <ul className={dialogs.problems}>
              {leftOut.slice(0, 200).map((left) => (
                <li key={left.caseId}>
                  <button type="button" className={classes.linkish} onClick={() => onGo(left.caseId)}>
                    {left.caseId}
                  </button>
                  : {left.lacks.join("; ")}
                </li>
              ))}
            </ul>
            {leftOut.length > 200 && <Text size="xs">and {leftOut.length - 200} more</Text>}
          </section>
        )}
      </Stack>
    </Dialog>
  );
}
