/** One question with the control that its kind asks for. */
import { Button, Textarea } from "@mantine/core";
import { useEffect, useRef } from "react";
import { useKept } from "@/ui/forms";
import type { Case, Question } from "../queue/data";
import type { Mark } from "./marks";
import classes from "./questions.module.css";
import { SpanField } from "./SpanField";

type QuestionFieldProps = {
  question: Question;
  entry: Case;
  value: unknown;
  /** The keys 1 to 9 answer this one. */
  current: boolean;
  onAnswer: (value: unknown) => void;
};

/** The answers that a key can give, in order. */
export function optionsOf(question: Question): { label: string; value: unknown }[] {
  if (question.kind === "yes_no") {
    return [
      { label: "Yes", value: true },
      { label: "No", value: false },
    ];
  }
  if (question.kind === "scale") {
    const low = question.low ?? 1;
    return Array.from({ length: (question.high ?? 5) - low + 1 }, (_, step) => ({
      label: String(low + step),
      value: low + step,
    }));
  }
  return question.kind === "choice" ? (question.options ?? []).map((label) => ({ label, value: label })) : [];
}

/** The answer after one option was chosen: a second click takes it back, several options gather. */
export function chosenAfter(question: Question, held: unknown, option: unknown): unknown {
  if (!question.several) return held === option ? null : option;
  const chosen = Array.isArray(held) ? (held as unknown[]) : [];
  const next = chosen.includes(option) ? chosen.filter((one) => one !== option) : [...chosen, option];
  return next.length > 0 ? next : null;
}

export function QuestionField({ question, entry, value, current, onAnswer }: QuestionFieldProps) {
  const text = question.on === "input" ? entry.input : (entry[question.on ?? "output"] ?? "");
  return (
    <fieldset className={classes.question} data-current={current || undefined}>
      <legend>
        {question.title}
        {question.required && <span className={classes.required}> (needed to approve)</span>}
      </legend>
      {question.help && <p className={classes.help}>{question.help}</p>}
      {question.kind === "text" ? (
        <TextAnswer question={question} entry={entry} value={value} onAnswer={onAnswer} />
      ) : question.kind === "span" ? (
        <SpanField
          question={question}
          text={text}
          marks={Array.isArray(value) ? (value as Mark[]) : []}
          onMarks={(marks) => onAnswer(marks.length > 0 ? marks : null)}
        />
      ) : (
        <div className={classes.options}>
          {optionsOf(question).map(({ label, value: option }) => {
            const pressed = Array.isArray(value) ? value.includes(option) : value === option;
            return (
              <Button
                key={label}
                size="compact-sm"
                variant={pressed ? "filled" : "default"}
                aria-pressed={pressed}
                onClick={() => onAnswer(chosenAfter(question, value, option))}
              >
                {label}
              </Button>
            );
          })}
        </div>
      )}
    </fieldset>
  );
}

/** Free text is stored when the field is left: not each letter is an answer. What could not be stored stays in the field. */
function TextAnswer({ question, entry, value, onAnswer }: Omit<QuestionFieldProps, "current">) {
  const held = typeof value === "string" ? value : "";
  const [typed, setTyped, forgetTyped] = useKept(`answer ${entry.dataset}/${entry.id}/${question.name}`, held);
  const before = useRef(held);
  useEffect(() => {
    if (typed === before.current) setTyped(held);
    if (typed.trim() === held || typed === before.current) forgetTyped();
    before.current = held;
  }, [held, typed, setTyped, forgetTyped]);
  return (
    <Textarea
      aria-label={question.title}
      dir="auto"
      autosize
      minRows={1}
      maxRows={8}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={() => typed.trim() !== held && onAnswer(typed.trim() || null)}
    />
  );
}
