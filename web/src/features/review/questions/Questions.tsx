/** The questions of a case's dataset with my answers; those of colleagues are shown once I have answered. */
import { Button, CloseButton, Textarea } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useMay } from "@/api/access";
import { useKept } from "@/ui/forms";
import { useShortcuts } from "@/ui/shortcuts";
import { type Case, type CaseFile, type Question, saveAnswers, useRefresh } from "../queue/data";
import { QuestionsDialog } from "./QuestionsDialog";
import { characterAt, type Mark, passage, pieces, withMark, withoutMark } from "./questions";
import classes from "./questions.module.css";

/** `onAnswering` gets each answer under way: it ends when the answer is stored and the case was read again. */
type QuestionsProps = { file: CaseFile; entry: Case; me: string; onAnswering: (done: Promise<void>) => void };

export function Questions({ file, entry, me, onAnswering }: QuestionsProps) {
  const questions = file.questions ?? [];
  const [held, setHeld] = useState(() => mineOf(file, me));
  const [at, setAt] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const [editing, setEditing] = useState(false);
  const mayEdit = useMay("editor");
  const refresh = useRefresh();
  useEffect(() => setHeld(mineOf(file, me)), [file, me]);
  const current = questions[at] as Question | undefined;

  async function answer(question: Question, value: unknown) {
    const before = held[question.name];
    // A text shows what is typed until the server has it; the others show the choice at once.
    if (question.kind !== "text") setHeld((now) => ({ ...now, [question.name]: value }));
    try {
      await saveAnswers({ dataset: entry.dataset, id: entry.id }, { [question.name]: value });
      setProblem(null);
      await refresh();
    } catch (error) {
      setHeld((now) => ({ ...now, [question.name]: before }));
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }

  useShortcuts("Questions of this case", [
    ...(questions.length > 1
      ? [{ keys: "q", does: "Next question", run: () => setAt((now) => (now + 1) % questions.length) }]
      : []),
    ...(current ? optionsOf(current) : []).slice(0, 9).map(({ label, value }, index) => ({
      keys: String(index + 1),
      does: `Answer “${current?.title}”: ${label}`,
      run: () => current && onAnswering(answer(current, chosenAfter(current, held[current.name], value))),
    })),
    ...(mayEdit ? [{ keys: "Q", does: "Write the questions of this dataset", run: () => setEditing(true) }] : []),
  ]);

  return (
    <section className={classes.questions} aria-label="Questions">
      {questions.map((question, index) => (
        <div key={question.name}>
          <QuestionField
            question={question}
            entry={entry}
            value={held[question.name]}
            current={index === at && questions.length > 0}
            onAnswer={(value) => onAnswering(answer(question, value))}
          />
          <OthersAnswers file={file} question={question} me={me} />
        </div>
      ))}
      {problem && (
        <p role="alert" className={classes.problem}>
          {problem}
        </p>
      )}
      {mayEdit && (
        <Button size="compact-xs" variant="subtle" onClick={() => setEditing(true)}>
          {questions.length > 0 ? "Questions…" : "Add questions of your own…"}
        </Button>
      )}
      {editing && (
        <QuestionsDialog
          dataset={entry.dataset}
          questions={questions}
          onClose={() => setEditing(false)}
          onSaved={() => {
            setEditing(false);
            void refresh();
          }}
        />
      )}
    </section>
  );
}

function mineOf(file: CaseFile, me: string): { [question: string]: unknown } {
  return Object.fromEntries(
    (file.answers ?? []).filter(({ reviewer }) => reviewer === me).map(({ question, value }) => [question, value]),
  );
}

/** The questions that must be answered before I approve, and are not. */
export function unanswered(file: CaseFile, me: string): string[] {
  const mine = mineOf(file, me);
  return (file.questions ?? []).filter((each) => each.required && mine[each.name] == null).map(({ title }) => title);
}

function OthersAnswers({ file, question, me }: { file: CaseFile; question: Question; me: string }) {
  const all = (file.answers ?? []).filter((answer) => answer.question === question.name);
  const others = all.filter(({ reviewer }) => reviewer !== me);
  if (others.length === 0 || others.length === all.length) return null;
  return (
    <p className={classes.help}>{others.map(({ reviewer, value }) => `${reviewer}: ${wordsOf(value)}`).join(" · ")}</p>
  );
}

function wordsOf(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (!Array.isArray(value)) return String(value);
  return typeof value[0] === "object" ? `${value.length} marked` : value.join(", ");
}

type QuestionFieldProps = {
  question: Question;
  entry: Case;
  value: unknown;
  /** The keys 1 to 9 answer this one. */
  current: boolean;
  onAnswer: (value: unknown) => void;
};

/** The answers that a key can give, in order. */
function optionsOf(question: Question): { label: string; value: unknown }[] {
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
function chosenAfter(question: Question, held: unknown, option: unknown): unknown {
  if (!question.several) return held === option ? null : option;
  const chosen = Array.isArray(held) ? (held as unknown[]) : [];
  const next = chosen.includes(option) ? chosen.filter((one) => one !== option) : [...chosen, option];
  return next.length > 0 ? next : null;
}

/** One question with the control that its kind asks for. */
function QuestionField({ question, entry, value, current, onAnswer }: QuestionFieldProps) {
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

type SpanFieldProps = { question: Question; text: string; marks: Mark[]; onMarks: (marks: Mark[]) => void };

/** Passages marked with labels: select them with mouse or Shift and arrows, then choose a label. */
function SpanField({ question, text, marks, onMarks }: SpanFieldProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [chosen, setChosen] = useState(false);

  function add(label: string) {
    const { selectionStart, selectionEnd } = field.current ?? { selectionStart: 0, selectionEnd: 0 };
    if (selectionStart === selectionEnd) return;
    const [start, end] = [characterAt(text, selectionStart), characterAt(text, selectionEnd)];
    onMarks(withMark(marks, { start, end, label }));
  }

  if (text === "") return <p className={classes.help}>This case has no {question.on} to mark.</p>;
  return (
    <>
      <Textarea
        ref={field}
        aria-readonly // an input that is read-only takes no selection by keyboard in every browser
        onChange={() => undefined}
        aria-label={`${question.title}: select a passage`}
        dir="auto"
        autosize
        minRows={2}
        maxRows={6}
        value={text}
        onSelect={(event) => setChosen(event.currentTarget.selectionStart !== event.currentTarget.selectionEnd)}
      />
      <div className={classes.options}>
        {(question.options ?? []).map((label) => (
          <Button key={label} size="compact-sm" variant="default" disabled={!chosen} onClick={() => add(label)}>
            Mark as {label}
          </Button>
        ))}
      </div>
      {marks.length > 0 && (
        <>
          <p className={classes.marked} dir="auto">
            {pieces(text, marks).map((piece, index) =>
              piece.label === null ? (
                piece.text
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
                <mark key={index} title={piece.label}>
                  {piece.text}
                </mark>
              ),
            )}
          </p>
          <ul className={classes.marks} aria-label="Marked passages">
            {marks.map((mark) => (
              <li key={`${mark.start} ${mark.end} ${mark.label}`}>
                <span dir="auto">
                  {mark.label}: “{passage(text, mark)}”
                </span>
                <CloseButton
                  size="xs"
                  aria-label={`Remove the mark ${mark.label} on ${passage(text, mark)}`}
                  onClick={() => onMarks(withoutMark(marks, mark))}
                />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
