/** The texts of a case, by kind: which there are, what they are called, which of them a reviewer writes. */
import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import type { RefObject } from "react";
import { remarkText, statedAnswer } from "@/ui/cases";
import { visible } from "@/ui/text";
import type { Case, Changes } from "./data";
import classes from "./desk.module.css";
import { Passage } from "./Passages";
import sheet from "./passages.module.css";

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
        if (!field.write) return <Said key={field.name} label={field.label} text={value} />;
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
              <div className={sheet.cited}>
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
      {remark && <Said label="What the user said against it" text={remark} />}
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

function Said({ label, text }: { label: string; text: string }) {
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
