/** Make a case of traces: the answer is edited in place and becomes a person's reference. */
import { Button, Group, TagsInput, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { Dialog } from "@/ui/Dialog";
import { useKept } from "@/ui/kept";
import type { NewCase } from "./useTraceActions";

type MakeCaseProps = {
  /** Of what cases are made: text typed here is kept under this name until it is stored. */
  name: string;
  output: string | null;
  onCancel: () => void;
  /** Makes the cases; gives what went wrong, or nothing. */
  onMake: (made: NewCase) => Promise<string>;
};

export function MakeCase({ name, output, onCancel, onMake }: MakeCaseProps) {
  const [answer, setAnswer, forgetAnswer] = useKept(`answer ${name}`, output ?? "");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [dataset, setDataset] = useState("picked");
  const [tags, setTags] = useState<string[]>([]);
  const named = dataset.trim() !== "";
  function cancel() {
    forgetAnswer();
    onCancel();
  }
  async function make() {
    setBusy(true);
    const wrong = await onMake({ answer, dataset: dataset.trim(), tags });
    if (wrong === "") return cancel();
    setBusy(false);
    setProblem(wrong);
  }
  return (
    <Dialog
      onClose={cancel}
      title={output === null ? "Make cases of these traces" : "Make a case of this trace"}
      size="lg"
      centered
    >
      {output !== null && (
        <Textarea
          data-autofocus
          label="The right answer"
          description="Correct it where it is wrong. It becomes the reference that models are measured by."
          autosize
          minRows={4}
          maxRows={14}
          dir="auto"
          value={answer}
          onChange={(event) => setAnswer(event.currentTarget.value)}
        />
      )}
      <TextInput
        mt="sm"
        label="Dataset"
        value={dataset}
        error={named ? undefined : "a dataset needs a name"}
        onChange={(event) => setDataset(event.currentTarget.value)}
      />
      <TagsInput
        mt="sm"
        label="Tags"
        value={tags}
        onChange={setTags}
        clearButtonProps={{ "aria-label": "Remove all tags" }}
      />
      <Text size="xs" c="dimmed" mt="sm">
        The conversation, tools and contexts of the trace come along. Without an answer the case waits for review.
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
        <Button disabled={!named} loading={busy} onClick={() => void make()}>
          {answer.trim() === "" ? "Send to review" : "Make the case"}
        </Button>
      </Group>
    </Dialog>
  );
}
