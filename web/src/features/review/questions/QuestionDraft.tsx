/** The form of one question. */
import { Button, Checkbox, NativeSelect, NumberInput, TagsInput, TextInput } from "@mantine/core";
import type { Question } from "../queue/data";
import classes from "./questions.module.css";

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

export function QuestionDraft({ number, question, onChange, onUp, onRemove }: QuestionDraftProps) {
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
