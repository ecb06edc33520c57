/** The texts of a case, by kind, with those that a reviewer writes; and the evidence beside them. */
import { NativeSelect, Tabs, Textarea, TextInput } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { Fragment, type RefObject } from "react";
import { SimulatedUser } from "@/features/replay/SimulatedUser";
import { CaseReplays } from "@/features/replay/Trajectories";
import { Scores } from "@/features/traces/Scores";
import { Waterfall } from "@/features/traces/Waterfall";
import { remarkText, statedAnswer } from "@/ui/cases";
import { Messages } from "@/ui/Messages";
import { Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import desk from "../desk.module.css";
import type { Evidence } from "../Evidence";
import evidenceClasses from "../evidence.module.css";
import type { Case, Changes } from "./data";
import classes from "./queue.module.css";

type Field = { name: "name" | "input" | "output" | "expected"; label: string; hint?: string; write: boolean };

const FIELDS: Record<Exclude<Case["kind"], "context">, Field[]> = {
  chat: [
    { name: "input", label: "What the user said", write: false },
    { name: "output", label: "What the app answered", write: false },
    {
      name: "expected",
      label: "Expected answer",
      hint: "What it should have said; when the answer above is right, leave this empty and approve",
      write: true,
    },
  ],
  qa: [
    { name: "input", label: "Question", write: true },
    { name: "expected", label: "Reference answer", hint: "[n] cites context n", write: true },
  ],
  summary: [
    { name: "input", label: "Instruction", write: true },
    { name: "expected", label: "Reference summary", hint: "[n] cites context n", write: true },
  ],
  task: [
    { name: "name", label: "Name", write: true },
    { name: "input", label: "Task", write: true },
    { name: "expected", label: "Expected output", write: true },
  ],
};

type TextFieldsProps = {
  entry: Case;
  onEdit: (changes: Changes) => void;
  onLight: (context: number | null) => void;
  firstRef: RefObject<HTMLTextAreaElement | null>;
};

export function TextFields({ entry, onEdit, onLight, firstRef }: TextFieldsProps) {
  if (entry.kind === "context") return null;
  const cites = entry.kind === "qa" || entry.kind === "summary";
  return (
    <>
      {FIELDS[entry.kind].map((field) => {
        const value = entry[field.name] ?? "";
        if (!field.write) return <ReadOnlyText key={field.name} label={field.label} text={value} />;
        if (entry.kind === "chat" && entry.entry_type === "correction") {
          return <CorrectedAnswer key={field.name} entry={entry} onEdit={onEdit} firstRef={firstRef} />;
        }
        if (field.name === "name") {
          return (
            <TextInput
              dir="auto"
              key="name"
              label={field.label}
              value={value}
              onChange={(event) => onEdit({ name: event.currentTarget.value })}
            />
          );
        }
        return (
          <div key={field.name}>
            <Textarea
              dir="auto"
              ref={field.name === "expected" ? firstRef : undefined}
              label={field.label}
              description={field.hint}
              autosize
              minRows={2}
              maxRows={14}
              value={value}
              onChange={(event) => onEdit({ [field.name]: event.currentTarget.value })}
            />
            {cites && field.name === "expected" && value !== "" && (
              <div className={classes.cited}>
                <Passage text={value} count={entry.contexts.length} onLight={onLight} />
              </div>
            )}
          </div>
        );
      })}
      {entry.kind === "task" && (
        <NativeSelect
          label="Difficulty"
          data={["easy", "medium", "hard"]}
          value={entry.difficulty ?? "medium"}
          onChange={(event) => onEdit({ difficulty: event.currentTarget.value })}
        />
      )}
      {entry.kind === "chat" && (
        <NativeSelect
          label="What this case is"
          data={["golden", "failure", "correction"]}
          value={entry.entry_type}
          onChange={(event) => onEdit({ entry_type: event.currentTarget.value })}
        />
      )}
    </>
  );
}

/** A correction: the words of the user, which are no answer, and the right answer, which the reviewer writes or approves. */
function CorrectedAnswer({ entry, onEdit, firstRef }: Omit<TextFieldsProps, "onLight">) {
  const remark = remarkText(entry);
  return (
    <>
      {remark && <ReadOnlyText label="What the user said against it" text={remark} />}
      <Textarea
        dir="auto"
        ref={firstRef}
        label="Expected answer"
        description={whereFrom(entry)}
        autosize
        minRows={2}
        maxRows={14}
        value={statedAnswer(entry)}
        onChange={(event) => onEdit({ approved: { text: event.currentTarget.value } })}
      />
    </>
  );
}

function whereFrom(entry: Case): string {
  if (entry.approved?.text) return "Written or approved by a person";
  if (!statedAnswer(entry)) return "Nobody has said it: write it, or dismiss the case if this was no correction";
  return entry.revised?.trace_id
    ? "The assistant's own answer after it was corrected; change it where it says more than the answer"
    : "Sent as the right answer";
}

function ReadOnlyText({ label, text }: { label: string; text: string }) {
  return (
    <section className={classes.said} aria-label={label}>
      <h3>{label}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text scrolls, also by keyboard */}
      <p dir="auto" tabIndex={0}>
        {visible(text) || "nothing"}
      </p>
    </section>
  );
}

type CaseEvidenceProps = { entry: Case; evidence: UseQueryResult<Evidence>; lit: number | null };

/** What a case that is no context case is judged by: contexts, expected tools, conversation, spans and scores. */
export function CaseEvidence({ entry, evidence, lit }: CaseEvidenceProps) {
  const passages = entry.kind === "qa" || entry.kind === "summary" || entry.contexts.length > 0;
  return (
    <aside className={evidenceClasses.panel} aria-label="Evidence">
      <SimulatedUser key={`${entry.dataset}/${entry.id}`} entry={entry} />
      <CaseReplays dataset={entry.dataset} caseId={entry.id} />
      {passages && <Contexts entry={entry} lit={lit} />}
      {entry.kind === "task" && <ExpectedTools entry={entry} />}
      {evidence.isPending && <Loading what="evidence" />}
      {evidence.isError && <Failed error={evidence.error} />}
      {evidence.data?.trace ? (
        <TraceEvidence evidence={evidence.data} entry={entry} />
      ) : (
        entry.kind === "chat" && <p className={evidenceClasses.none}>{evidence.data?.missing}</p>
      )}
    </aside>
  );
}

function TraceEvidence({ evidence, entry }: { evidence: Evidence; entry: Case }) {
  const { trace, conversation } = evidence;
  if (!trace) return null;
  const turns = conversation.length > 0 ? conversation : [trace];
  return (
    <Tabs defaultValue="talk" keepMounted={false}>
      <Tabs.List>
        <Tabs.Tab value="talk">Conversation ({turns.length})</Tabs.Tab>
        <Tabs.Tab value="spans">Steps ({trace.spans.length})</Tabs.Tab>
        <Tabs.Tab value="scores">Scores ({trace.scores.length})</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="talk">
        <ol className={classes.talk}>
          {turns.map((turn) => (
            <li key={turn.id} data-this={turn.id === trace.id || undefined}>
              <p dir="auto">{visible(turn.input)}</p>
              {turn.id === trace.id && entry.tool_calls.length > 0 ? (
                <Messages messages={entry.turn} />
              ) : (
                <p dir="auto">{visible(turn.output ?? "no answer")}</p>
              )}
            </li>
          ))}
        </ol>
      </Tabs.Panel>
      <Tabs.Panel value="spans">
        <Waterfall spans={trace.spans} />
      </Tabs.Panel>
      <Tabs.Panel value="scores" p="sm">
        <Scores traceId={trace.id} scores={trace.scores} />
      </Tabs.Panel>
    </Tabs>
  );
}

function ExpectedTools({ entry }: { entry: Case }) {
  const expected = entry.expected_tools ?? null;
  if (expected === null) return <p className={evidenceClasses.none}>Nothing is said about tool calls.</p>;
  if (expected.length === 0) return <p className={evidenceClasses.none}>No tool call is expected.</p>;
  return (
    <ol className={evidenceClasses.calls}>
      {expected.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same call may be expected twice
        <li key={index}>
          <code>{call.name}</code> <span className={evidenceClasses.arguments}>{JSON.stringify(call.args)}</span>
        </li>
      ))}
    </ol>
  );
}

const CITATION = /\[(\d{1,3})\]/g;

type PassageProps = { text: string; count: number; onLight: (context: number | null) => void };

/** Numbered contexts, and texts whose [n] light the context they cite. A citation of a context that is not there says so. */
function Passage({ text, count, onLight }: PassageProps) {
  const parts = visible(text).split(CITATION);
  return parts.map((part, index) => {
    // split() with one group gives text and numbers in turn
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text, in their order
    if (index % 2 === 0) return <Fragment key={index}>{part}</Fragment>;
    const number = Number(part);
    const known = number >= 1 && number <= count;
    return (
      <button
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        key={index}
        type="button"
        className={classes.citation}
        data-unknown={!known || undefined}
        aria-label={known ? `Cites context ${number}` : `Cites context ${number}, which does not exist`}
        onMouseEnter={() => onLight(number)}
        onMouseLeave={() => onLight(null)}
        onFocus={() => onLight(number)}
        onBlur={() => onLight(null)}
      >
        [{number}]
      </button>
    );
  });
}

function Contexts({ entry, lit }: { entry: Case; lit: number | null }) {
  if (entry.contexts.length === 0) return <p className={evidenceClasses.none}>This case has no contexts.</p>;
  return (
    <ol className={classes.contexts}>
      {entry.contexts.map((context, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a context is its place
        <li key={index} data-lit={lit === index + 1 || undefined}>
          <b>[{index + 1}]</b>
          <div>
            {context.source && <div className={desk.dim}>{visible(context.source)}</div>}
            {visible(context.text ?? "this passage was lost; its place is kept").replace(/^\[\d+\]\s*/, "")}
          </div>
        </li>
      ))}
    </ol>
  );
}
