/** What one can do with a trace: say whether it is good, correct it, make a case of it, send it to review, copy it. */
import { Button, Menu } from "@mantine/core";
import { useState } from "react";
import { useShortcuts } from "@/ui/shortcuts";
import { copies } from "./copies";
import type { Trace } from "./data";
import { MakeCase } from "./MakeCase";
import classes from "./traces.module.css";
import { useTraceActions } from "./useTraceActions";

export function TraceActions({ trace }: { trace: Trace }) {
  const actions = useTraceActions([trace.id]);
  const [dialog, setDialog] = useState<"correct" | "case" | null>(null);
  useShortcuts("This trace", [
    { keys: "g", does: "Score as good", run: () => actions.score(1) },
    { keys: "b", does: "Score as bad", run: () => actions.score(0) },
    { keys: "c", does: "Write the right answer", run: () => setDialog("case") },
    { keys: "v", does: "Send to review", run: () => actions.makeCases({ dataset: "picked" }) },
  ]);
  return (
    <div className={classes.actions}>
      <Button.Group>
        <Button size="compact-sm" variant="default" onClick={() => actions.score(1)} disabled={actions.busy}>
          Good
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => actions.score(0)} disabled={actions.busy}>
          Bad
        </Button>
      </Button.Group>
      <Button size="compact-sm" variant="default" onClick={() => setDialog("case")}>
        Make a case…
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        disabled={actions.busy}
        onClick={() => actions.makeCases({ dataset: "picked" })}
      >
        Send to review
      </Button>
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
      <output className={classes.outcome} data-bad={actions.failed || undefined}>
        {actions.message}
        {actions.undo && (
          <button type="button" className={classes.undo} onClick={actions.undo}>
            Undo
          </button>
        )}
      </output>
      {dialog !== null && (
        <MakeCase
          output={trace.output ?? ""}
          onCancel={() => setDialog(null)}
          onMake={(made) => {
            setDialog(null);
            actions.makeCases(made);
          }}
        />
      )}
    </div>
  );
}
