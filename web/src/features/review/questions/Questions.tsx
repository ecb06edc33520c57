/** The questions of a case's dataset with my answers; those of colleagues are shown once I have answered. */
import { Button } from "@mantine/core";
import { useEffect, useState } from "react";
import { useMay } from "@/api/access";
import { useShortcuts } from "@/ui/shortcuts";
import { type Case, type CaseFile, type Question, saveAnswers, useRefresh } from "../queue/data";
import { chosenAfter, optionsOf, QuestionField } from "./QuestionField";
import { QuestionsDialog } from "./QuestionsDialog";
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
