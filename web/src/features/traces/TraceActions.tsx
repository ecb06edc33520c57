/** What one can do with a trace: say whether it is good, correct it, make a case of it, send it to review, copy it. */
import { Button, Menu } from "@mantine/core";
import { useState } from "react";
import { useMay } from "@/api/access";
import { useShortcuts } from "@/ui/shortcuts";
import { copies } from "./copies";
import type { Trace } from "./data";
import { MakeCase } from "./MakeCase";
import { TagButton } from "./TagButton";
import classes from "./traces.module.css";
import { useTraceActions } from "./useTraceActions";

export function TraceActions({ trace }: { trace: Trace }) {
  const actions = useTraceActions([trace.id]);
  const [making, setMaking] = useState(false);
  const mayScore = useMay("ingest");
  const mayTag = useMay("reviewer");
  const mayEdit = useMay("editor");
  useShortcuts("This trace", [
    ...(mayScore
      ? [
          { keys: "g", does: "Score as good", run: () => actions.score(1) },
          { keys: "b", does: "Score as bad", run: () => actions.score(0) },
        ]
      : []),
    ...(mayEdit
      ? [
          { keys: "c", does: "Write the right answer", run: () => setMaking(true) },
          { keys: "v", does: "Send to review", run: () => void actions.makeCases({ dataset: "picked" }) },
          { keys: "p", does: "Open in replay", run: () => actions.openInReplay() },
        ]
      : []),
  ]);
  return (
    <div className={classes.actions}>
      {mayScore && (
        <Button.Group>
          <Button size="compact-sm" variant="default" onClick={() => actions.score(1)} disabled={actions.busy}>
            Good
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => actions.score(0)} disabled={actions.busy}>
            Bad
          </Button>
        </Button.Group>
      )}
      {mayEdit && (
        <>
          <Button size="compact-sm" variant="default" onClick={() => setMaking(true)}>
            Make a case…
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            disabled={actions.busy}
            onClick={() => void actions.makeCases({ dataset: "picked" })}
          >
            Send to review
          </Button>
          <Button size="compact-sm" variant="default" disabled={actions.busy} onClick={actions.openInReplay}>
            Open in replay
          </Button>
        </>
      )}
      {mayTag && <TagButton busy={actions.busy} onTag={(tag) => actions.retag([tag], [])} />}
      <Menu position="bottom-start">
        <Menu.Target>
          <Button size="compact-sm" variant="default">
            Copy as…
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {copies(trace, window.location.origin).map(([label, text]) => (
            <Menu.Item key={label} onClick={() => void navigator.clipboard.writeText(text)}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Outcome {...actions} />
      {making && (
        <MakeCase
          name={trace.id}
          output={trace.output ?? ""}
          onCancel={() => setMaking(false)}
          onMake={actions.makeCases}
        />
      )}
    </div>
  );
}

/** What an action did, and the way to take it back. */
export function Outcome({ message, failed, undo }: { message: string; failed: boolean; undo: (() => void) | null }) {
  return (
    <output className={classes.outcome} data-bad={failed || undefined}>
      {message}
      {undo && (
        <button type="button" className={classes.undo} onClick={undo}>
          Undo
        </button>
      )}
    </output>
  );
}
