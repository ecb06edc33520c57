/** The questions of a dataset as a form: add, change, move and take away. */
import { Button, Checkbox, Group, NativeSelect, NumberInput, TagsInput, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Dialog, useRemoval } from "@/ui/forms";
import { type Question, saveQuestions } from "../queue/data";
import { named } from "./questions";
import classes from "./questions.module.css";

type QuestionsDialogProps = {
  dataset: string;
  questions: readonly Question[];
  onClose: () => void;
  onSaved: () => void;
};
type Draft = { key: number; question: Question };

const NEW: Question = {
  name: "",
  kind: "yes_no",
  title: "",
  help: "",
  required: false,
  options: [],
  several: false,
  low: 1,
  high: 5,
  on: "output",
};

export function QuestionsDialog({ dataset, questions, onClose, onSaved }: QuestionsDialogProps) {
  const [drafts, setDrafts] = useState<Draft[]>(() =>
    (questions.length > 0 ? questions : [NEW]).map((question, key) => ({ key, question })),
  );
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  const { ref, removing } = useRemoval<HTMLDivElement>(drafts.length, "[data-question]", "button");
  const put = (at: number, question: Question) =>
    setDrafts(drafts.map((draft, index) => (index === at ? { ...draft, question } : draft)));
  const move = (at: number) =>
    setDrafts(drafts.map((draft, index) => drafts[index === at ? at - 1 : index === at - 1 ? at : index] ?? draft));
  const add = () => setDrafts([...drafts, { key: Math.max(-1, ...drafts.map(({ key }) => key)) + 1, question: NEW }]);

  async function save() {
    setBusy(true);
    try {
      await saveQuestions(dataset, named(drafts.map(({ question }) => question)));
      onSaved();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <Dialog onClose={onClose} size="lg" title={`Questions to reviewers of ${dataset}`}>
      <div ref={ref}>
        {drafts.map(({ key, question }, at) => (
          <QuestionDraft
            key={key}
            number={at + 1}
            question={question}
            onChange={(next) => put(at, next)}
            onUp={at === 0 ? undefined : () => move(at)}
            onRemove={() => {
              removing(at);
              setDrafts(drafts.filter((draft) => draft.key !== key));
            }}
          />
        ))}
      </div>
      {drafts.length === 0 && <Text size="sm">No questions: reviewers only approve or dismiss.</Text>}
      {problem && (
        <Text role="alert" size="sm" c="var(--eg-rust)">
          {problem}
        </Text>
      )}
      <Group justify="space-between" mt="md">
        <Button variant="default" onClick={add}>
          Add a question
        </Button>
        <Button loading={busy} onClick={() => void save()}>
          Save the questions
        </Button>
      </Group>
    </Dialog>
  );
}

type QuestionDraftProps = {
  number: number;
  question: Question;
  onChange: (question: Question) => void;
  onUp?: () => void;
  onRemove: () => void;
};

const KINDS = [
  { value: "yes_no", label: "Yes or no" },
  { value: "scale", label: "Scale" },
  { value: "choice", label: "Choice" },
  { value: "text", label: "Text" },
  { value: "span", label: "Marked passages" },
];
const TEXTS = [
  { value: "input", label: "the question of the case" },
  { value: "output", label: "the answer" },
  { value: "expected", label: "the expected answer" },
];

/** The form of one question. */
function QuestionDraft({ number, question, onChange, onUp, onRemove }: QuestionDraftProps) {
  const set = (changes: Partial<Question>) => onChange({ ...question, ...changes });
  return (
    <fieldset className={classes.draft} aria-label={`Question ${number}`}>
      <TextInput
        label="What is asked"
        data-question
        data-autofocus={question.title === "" || undefined}
        value={question.title}
        onChange={(event) => set({ title: event.currentTarget.value })}
      />
      <div>
        <NativeSelect
          label="Kind of answer"
          data={KINDS}
          value={question.kind}
          onChange={(event) => set({ kind: event.currentTarget.value as Question["kind"] })}
        />
        {question.kind === "scale" && (
          <>
            <NumberInput
              label="From"
              w={80}
              min={0}
              max={99}
              value={question.low}
              onChange={(low) => set({ low: Number(low) })}
            />
            <NumberInput
              label="To"
              w={80}
              min={1}
              max={100}
              value={question.high}
              onChange={(high) => set({ high: Number(high) })}
            />
          </>
        )}
        {question.kind === "span" && (
          <NativeSelect
            label="Marked in"
            data={TEXTS}
            value={question.on}
            onChange={(event) => set({ on: event.currentTarget.value as Question["on"] })}
          />
        )}
      </div>
      {(question.kind === "choice" || question.kind === "span") && (
        <TagsInput
          label={question.kind === "choice" ? "Options" : "Labels"}
          description="Enter after each"
          value={question.options}
          onChange={(options) => set({ options })}
          clearButtonProps={{ "aria-label": "Clear" }}
        />
      )}
      <div>
        <Checkbox
          label="Needed to approve"
          checked={question.required}
          onChange={(event) => set({ required: event.currentTarget.checked })}
        />
        {question.kind === "choice" && (
          <Checkbox
            label="Several options at once"
            checked={question.several}
            onChange={(event) => set({ several: event.currentTarget.checked })}
          />
        )}
        {onUp && (
          <Button size="compact-xs" variant="subtle" onClick={onUp}>
            Move question {number} up
          </Button>
        )}
        <Button size="compact-xs" variant="subtle" onClick={onRemove}>
          Remove question {number}
        </Button>
      </div>
    </fieldset>
  );
}
