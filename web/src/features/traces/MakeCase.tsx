/** Make a case of traces: the answer is edited in place and becomes a person's reference. */
import { Button, Group, Modal, TagsInput, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { NewCase } from "./useTraceActions";

type MakeCaseProps = { output: string | null; onCancel: () => void; onMake: (made: NewCase) => void };

export function MakeCase({ output, onCancel, onMake }: MakeCaseProps) {
  const [answer, setAnswer] = useState(output ?? "");
  const [dataset, setDataset] = useState("picked");
  const [tags, setTags] = useState<string[]>([]);
  const named = dataset.trim() !== "";
  return (
    <Modal
      opened
      onClose={onCancel}
      title={output === null ? "Make cases of these traces" : "Make a case of this trace"}
      size="lg"
      centered
      closeButtonProps={{ "aria-label": "Close" }}
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
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button disabled={!named} onClick={() => onMake({ answer, dataset: dataset.trim(), tags })}>
          {answer.trim() === "" ? "Send to review" : "Make the case"}
        </Button>
      </Group>
    </Modal>
  );
}
