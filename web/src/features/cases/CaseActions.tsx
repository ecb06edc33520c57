/** What one can do with a case: edit it, take the edit back, review it, and go to the traces and runs it belongs to. */
import { Button, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { useShortcuts } from "@/ui/shortcuts";
import { CaseEditor } from "./CaseEditor";
import type { Case } from "./data";
import { changedFields, draftOf } from "./edits";
import { useCaseEdit } from "./useCaseEdit";

export function CaseActions({ entry }: { entry: Case }) {
  const mayReview = useMay("reviewer");
  const [editing, setEditing] = useState(false);
  const [before, setBefore] = useState<Case | null>(null);
  const undo = useCaseEdit(() => setBefore(null));
  useShortcuts("This case", mayReview ? [{ keys: "e", does: "Edit", run: () => setEditing(true) }] : []);
  return (
    <Group gap={8} mb="md">
      {mayReview && (
        <Button size="compact-sm" variant="default" onClick={() => setEditing(true)}>
          Edit…
        </Button>
      )}
      {entry.provenance.trace_id && (
        <Button
          size="compact-sm"
          variant="default"
          renderRoot={(props) => (
            <Link to="/traces/$traceId" params={{ traceId: entry.provenance.trace_id ?? "" }} {...props} />
          )}
        >
          Open its trace
        </Button>
      )}
      <Button
        size="compact-sm"
        variant="default"
        renderRoot={(props) => <Link to="/review" search={{ dataset: entry.dataset, id: entry.id }} {...props} />}
      >
        Review it
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        renderRoot={(props) => <Link to="/benchmarks" search={{ q: entry.dataset }} {...props} />}
      >
        Runs of its dataset
      </Button>
      {(entry.messages?.length ?? 0) > 0 && (
        <Button
          size="compact-sm"
          variant="default"
          renderRoot={(props) => (
            <Link to="/replay/$dataset/$caseId" params={{ dataset: entry.dataset, caseId: entry.id }} {...props} />
          )}
        >
          Open in replay
        </Button>
      )}
      <output>
        {undo.problem || (before && "Saved.")}{" "}
        {before && (
          <Button
            size="compact-sm"
            variant="subtle"
            loading={undo.busy}
            onClick={() => undo.save(entry, draftOf(before), changedFields(draftOf(entry), draftOf(before)))}
          >
            Undo
          </Button>
        )}
      </output>
      {editing && (
        <CaseEditor
          entry={entry}
          onClose={() => setEditing(false)}
          onSaved={(old) => {
            setEditing(false);
            setBefore(old);
          }}
        />
      )}
    </Group>
  );
}
