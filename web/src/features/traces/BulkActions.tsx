/** What one can do with the chosen traces at once; each action can be taken back. */
import { Button } from "@mantine/core";
import { useState } from "react";
import { useMay } from "@/api/access";
import { plural } from "@/ui/format";
import { MakeCase } from "./MakeCase";
import { TagButton } from "./TagButton";
import { Outcome } from "./TraceActions";
import classes from "./traces.module.css";
import { useTraceActions } from "./useTraceActions";

export function BulkActions({ traceIds, onClear }: { traceIds: readonly string[]; onClear: () => void }) {
  const actions = useTraceActions(traceIds);
  const [making, setMaking] = useState(false);
  const mayScore = useMay("ingest");
  const mayTag = useMay("reviewer");
  const mayEdit = useMay("editor");
  const small = { size: "compact-sm", variant: "default", disabled: actions.busy } as const;
  return (
    <section className={classes.bulk} aria-label="Chosen traces">
      <strong>{plural(traceIds.length, "trace")} chosen</strong>
      {mayScore && (
        <Button.Group>
          <Button {...small} onClick={() => actions.score(1)}>
            All good
          </Button>
          <Button {...small} onClick={() => actions.score(0)}>
            All bad
          </Button>
        </Button.Group>
      )}
      {mayTag && <TagButton busy={actions.busy} onTag={(tag) => actions.retag([tag], [])} />}
      {mayEdit && (
        <>
          <Button {...small} onClick={() => setMaking(true)}>
            Make cases…
          </Button>
          <Button {...small} onClick={() => void actions.makeCases({ dataset: "picked" })}>
            Send all to review
          </Button>
        </>
      )}
      <Button size="compact-sm" variant="subtle" onClick={onClear}>
        Choose none
      </Button>
      <Outcome {...actions} />
      {making && <MakeCase name="many" output={null} onCancel={() => setMaking(false)} onMake={actions.makeCases} />}
    </section>
  );
}
