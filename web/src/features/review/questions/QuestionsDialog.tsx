/** The questions of a dataset as a form: add, change, move and take away. */
import { Button, Group, Text } from "@mantine/core";
import { useState } from "react";
import { Dialog, useRemoval } from "@/ui/forms";
import { type Question, saveQuestions } from "../queue/data";
import { named } from "./named";
import { QuestionDraft } from "./QuestionDraft";

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
