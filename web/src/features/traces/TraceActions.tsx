/** What one can do with a trace, or with all chosen ones: say whether it is good, correct it, make a case of it, send it to review, copy it. */
import { Button, Group, Kbd, Menu, Popover, TagsInput, Text, Textarea, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { plural } from "@/ui/format";
import { Dialog, useKept } from "@/ui/forms";
import { Messages } from "@/ui/Messages";
import { keyed, useShortcuts } from "@/ui/shortcuts";
import { TextBlock } from "@/ui/TextBlock";
import { type OwnCase, type Trace, useCaseDatasets, useConversation, useOwnCase } from "./data";
import classes from "./traces.module.css";
import { lastDataset, type NewCase, useTraceActions } from "./useTraceActions";

export function TraceActions({ trace }: { trace: Trace }) {
  const actions = useTraceActions([trace.id]);
  const [making, setMaking] = useState(false);
  const mayScore = useMay("ingest");
  const mayTag = useMay("reviewer");
  const mayEdit = useMay("editor");
  useShortcuts("This trace", [
    ...(mayScore
      ? [
          { keys: "+", does: "Good", run: () => actions.score(1) },
          { keys: "-", does: "Bad", run: () => actions.score(0) },
        ]
      : []),
    ...(mayEdit
      ? [
          { keys: "c", does: "Make a case, with the right answer", run: () => setMaking(true) },
          { keys: "v", does: "Send to review", run: () => void actions.makeCases({ dataset: lastDataset() }) },
          { keys: "p", does: "Open in replay", run: () => actions.openInReplay() },
        ]
      : []),
  ]);
  return (
    <div className={classes.actions}>
      {mayScore && (
        <Button.Group>
          <Button
            size="compact-sm"
            variant="default"
            {...keyed("+")}
            onClick={() => actions.score(1)}
            disabled={actions.busy}
          >
            Good
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            {...keyed("-")}
            onClick={() => actions.score(0)}
            disabled={actions.busy}
          >
            Bad
          </Button>
        </Button.Group>
      )}
      {mayEdit && (
        <>
          <Button size="compact-sm" variant="default" {...keyed("c")} onClick={() => setMaking(true)}>
            Make a case…
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            disabled={actions.busy}
            {...keyed("v")}
            onClick={() => void actions.makeCases({ dataset: lastDataset() })}
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
      {making && <MakeCase trace={trace} onCancel={() => setMaking(false)} onMake={actions.makeCases} />}
    </div>
  );
}

type Done = {
  message: string;
  failed: boolean;
  undo: (() => void) | null;
  made?: { dataset: string; id: string } | undefined;
};

/** What an action did, and the way to take it back. */
export function Outcome({ message, failed, undo, made }: Done) {
  return (
    <output className={classes.outcome} data-bad={failed || undefined}>
      {message}
      {made && (
        <>
          {" "}
          <Link to="/cases/$dataset/$caseId" params={{ dataset: made.dataset, caseId: made.id }}>
            Open it
          </Link>
        </>
      )}
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
          <Button {...small} onClick={() => void actions.makeCases({ dataset: lastDataset() })}>
            Send all to review
          </Button>
        </>
      )}
      <Button size="compact-sm" variant="subtle" onClick={onClear}>
        Choose none
      </Button>
      <Outcome {...actions} />
      {making && <MakeCase onCancel={() => setMaking(false)} onMake={actions.makeCases} />}
    </section>
  );
}

type MakeCaseProps = {
  /** The one trace of which a case is made; absent for many, whose cases wait for review. */
  trace?: Trace;
  onCancel: () => void;
  /** Makes the cases; gives what went wrong, or nothing. */
  onMake: (made: NewCase) => Promise<string>;
};

/** Make a case of a trace with everything in view, or of many; a case that the trace has already gets the answer. */
function MakeCase({ trace, onCancel, onMake }: MakeCaseProps) {
  const own = useOwnCase(trace?.id ?? "");
  if (trace && own.isPending) return null;
  return <CaseForm trace={trace} own={own.data ?? null} onCancel={onCancel} onMake={onMake} />;
}

type CaseFormProps = MakeCaseProps & { own: OwnCase | null };

function CaseForm({ trace, own, onCancel, onMake }: CaseFormProps) {
  const [answer, setAnswer, forgetAnswer] = useKept(`answer ${trace?.id ?? "many"}`, own?.reference ?? "");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [dataset, setDataset] = useState(own?.dataset ?? lastDataset());
  const [tags, setTags] = useState<string[]>([]);
  const datasets = useCaseDatasets();
  const named = dataset.trim() !== "";
  const updates = own !== null && own.dataset === dataset.trim();
  function cancel() {
    forgetAnswer();
    onCancel();
  }
  async function make() {
    if (!named || busy) return;
    setBusy(true);
    const wrong = await onMake({ answer, dataset: dataset.trim(), tags });
    if (wrong === "") return cancel();
    setBusy(false);
    setProblem(wrong);
  }
  const verb = answer.trim() === "" ? "Send to review" : updates ? "Update the case" : "Make the case";
  return (
    <Dialog
      onClose={cancel}
      title={!trace ? "Make cases of these traces" : updates ? "The case of this trace" : "Make a case of this trace"}
      size="xl"
      centered
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void make();
        }}
      >
        {trace && (
          <>
            <InView trace={trace} held={own?.held} />
            <Textarea
              data-autofocus
              mt="md"
              label="The right answer"
              description="The reference that models are measured by."
              autosize
              minRows={4}
              maxRows={14}
              dir="auto"
              value={answer}
              onChange={(event) => setAnswer(event.currentTarget.value)}
            />
            {trace.output && own?.held !== "wrong" && answer.trim() === "" && (
              <Button size="compact-xs" variant="subtle" onClick={() => setAnswer(trace.output ?? "")}>
                The recorded answer is right: use it
              </Button>
            )}
          </>
        )}
        <TextInput
          mt="sm"
          label="Dataset"
          list="datasets"
          data-autofocus={trace ? undefined : true}
          value={dataset}
          error={named ? undefined : "a dataset needs a name"}
          onChange={(event) => setDataset(event.currentTarget.value)}
        />
        <datalist id="datasets">
          {datasets.data?.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <TagsInput
          mt="sm"
          label="Tags"
          value={tags}
          onChange={setTags}
          clearButtonProps={{ "aria-label": "Remove all tags" }}
        />
        <Text size="xs" c="dimmed" mt="sm">
          The conversation, tools and contexts come along. Without an answer {trace ? "the case waits" : "cases wait"}{" "}
          for review.
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
          <Button type="submit" disabled={!named} loading={busy} rightSection={<Kbd size="xs">Ctrl ⏎</Kbd>}>
            {verb}
          </Button>
        </Group>
      </form>
    </Dialog>
  );
}

/** What a person reads before they write the answer: question, what was said before it, contexts, the recorded answer. */
function InView({ trace, held }: { trace: Trace; held: OwnCase["held"] | undefined }) {
  const { messages = [], contexts = [] } = useConversation(trace.id).data ?? {};
  const before = messages.slice(0, -1);
  return (
    <div className={classes.inView}>
      <TextBlock label="Question" text={trace.input} absent="nothing was asked" />
      {before.length > 0 && (
        <details>
          <summary>{plural(before.length, "message")} before it</summary>
          <Messages messages={before} />
        </details>
      )}
      {contexts.length > 0 && (
        <details>
          <summary>{plural(contexts.length, "context")}</summary>
          {contexts.map(({ text, source }) => (
            <TextBlock key={`${source} ${text}`} text={text} />
          ))}
        </details>
      )}
      <TextBlock
        label={held === "wrong" ? "Recorded answer, held wrong" : "Recorded answer"}
        text={trace.output}
        absent="no answer was recorded"
        tone={held === "wrong" ? "rust" : "plain"}
      />
    </div>
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
