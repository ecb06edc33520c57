/** The questions of a dataset as a form: add, change, move and take away. */
import { Button, Group, Modal, Text } from "@mantine/core";
import { useState } from "react";
import { type Question, saveQuestions } from "../queue/data";
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

  const put = (at: number, question: Question) =>
    setDrafts(drafts.map((draft, index) => (index === at ? { ...draft, question } : draft)));
  const move = (at: number) =>
    setDrafts(drafts.map((draft, index) => drafts[index === at ? at - 1 : index === at - 1 ? at : index] ?? draft));
  const add = () => setDrafts([...drafts, { key: Math.max(-1, ...drafts.map(({ key }) => key)) + 1, question: NEW }]);

  async function save() {
    setBusy(true);
    try {
      await saveQuestions(
        dataset,
        drafts.map(({ question }) => ({ ...question, name: question.name || nameFrom(question.title) })),
      );
      onSaved();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={`Questions to reviewers of ${dataset}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {drafts.map(({ key, question }, at) => (
        <QuestionDraft
          key={key}
          number={at + 1}
          question={question}
          onChange={(next) => put(at, next)}
          onUp={at === 0 ? undefined : () => move(at)}
          onRemove={() => setDrafts(drafts.filter((draft) => draft.key !== key))}
        />
      ))}
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
    </Modal>
  );
}

/** A name for answers out of the question itself: letters, digits and underscores, at most fifty. */
export function nameFrom(title: string): string {
  const plain = title
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "")
    .slice(0, 50);
  return plain || "question";
}
