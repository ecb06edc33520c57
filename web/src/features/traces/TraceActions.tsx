/** What one can do with a trace, or with all chosen ones: say whether it is good, correct it, make a case of it, send it to review, copy it. */
import { Button, Group, Menu, Popover, TagsInput, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useMay } from "@/api/access";
import { plural } from "@/ui/format";
import { Dialog, useKept } from "@/ui/forms";
import { useShortcuts } from "@/ui/shortcuts";
import type { Trace } from "./data";
import classes from "./traces.module.css";
import { type NewCase, useTraceActions } from "./useTraceActions";

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

/** What one can do with the chosen traces at once; each action can be taken back. */
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

type MakeCaseProps = {
  /** Of what cases are made: text typed here is kept under this name until it is stored. */
  name: string;
  output: string | null;
  onCancel: () => void;
  /** Makes the cases; gives what went wrong, or nothing. */
  onMake: (made: NewCase) => Promise<string>;
};

/** Make a case of traces: the answer is edited in place and becomes a person's reference. */
function MakeCase({ name, output, onCancel, onMake }: MakeCaseProps) {
  const [answer, setAnswer, forgetAnswer] = useKept(`answer ${name}`, output ?? "");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [dataset, setDataset] = useState("picked");
  const [tags, setTags] = useState<string[]>([]);
  const named = dataset.trim() !== "";
  function cancel() {
    forgetAnswer();
    onCancel();
  }
  async function make() {
    setBusy(true);
    const wrong = await onMake({ answer, dataset: dataset.trim(), tags });
    if (wrong === "") return cancel();
    setBusy(false);
    setProblem(wrong);
  }
  return (
    <Dialog
      onClose={cancel}
      title={output === null ? "Make cases of these traces" : "Make a case of this trace"}
      size="lg"
      centered
    >
      {output !== null && (
        <Textarea
          data-autofocus
          label="The right answer"
          description="Correct it where it is wrong. It becomes the reference that models are measured by."
          autosize
          minRows={4}
          maxRows={14}
          dir="auto"
          value={answer}
          onChange={(event) => setAnswer(event.currentTarget.value)}
        />
      )}
      <TextInput
        mt="sm"
        label="Dataset"
        value={dataset}
        error={named ? undefined : "a dataset needs a name"}
        onChange={(event) => setDataset(event.currentTarget.value)}
      />
      <TagsInput
        mt="sm"
        label="Tags"
        value={tags}
        onChange={setTags}
        clearButtonProps={{ "aria-label": "Remove all tags" }}
      />
      <Text size="xs" c="dimmed" mt="sm">
        The conversation, tools and contexts of the trace come along. Without an answer the case waits for review.
      </Text>
      {problem && (
        <Text role="alert" size="sm" c="var(--eg-rust)" mt="sm">
          {problem}
        </Text>
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={cancel}>
          Cancel
        </Button>
        <Button disabled={!named} loading={busy} onClick={() => void make()}>
          {answer.trim() === "" ? "Send to review" : "Make the case"}
        </Button>
      </Group>
    </Dialog>
  );
}

/** A button that asks for a tag, and puts it on with Enter. */
function TagButton({ busy, onTag }: { busy: boolean; onTag: (tag: string) => Promise<string> }) {
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

const quoted = (text: string) => JSON.stringify(text);

/** A trace as something to paste elsewhere: a request, a few lines of Python, a task of a YAML dataset. */
function copies(trace: Trace, origin: string): [string, string][] {
  const address = `${origin}/api/v1/traces/${encodeURIComponent(trace.id)}`;
  const python = [
    "import evergold",
    "",
    `eg = evergold.connect(${quoted(origin)})`,
    `eg.score(${quoted(trace.id)}, "opinion", 1.0, source="human")`,
    `eg.correct(${quoted(trace.id)}, ${quoted(trace.output ?? "")})`,
  ];
  const task = [
    "name: Picked",
    "description: Tasks made from traces.",
    "tasks:",
    `  - id: ${quoted(trace.id)}`,
    `    name: ${quoted(trace.name || trace.id)}`,
    `    input: ${quoted(trace.input ?? "")}`,
    `    expected_output: ${quoted(trace.output ?? "")}`,
  ];
  return [
    ["curl", `curl ${address}`],
    ["Python", `${python.join("\n")}\n`],
    ["YAML task", `${task.join("\n")}\n`],
    ["JSON", JSON.stringify(trace, null, 2)],
  ];
}
