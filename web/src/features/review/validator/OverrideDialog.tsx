/** Asks before a case is validated against what the repository says; the reason stays in the exported rows. */
import { Button, Group, List, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { Dialog } from "@/ui/forms";

type OverrideDialogProps = { problems: string[]; onCancel: () => void; onOverride: (why: string) => void };

export function OverrideDialog({ problems, onCancel, onOverride }: OverrideDialogProps) {
  const [why, setWhy] = useState("");
  return (
    <Dialog onClose={onCancel} title="The repository disproves this base commit" centered>
      <List size="sm" mb="sm">
        {problems.slice(0, 6).map((problem) => (
          <List.Item key={problem}>{problem}</List.Item>
        ))}
      </List>
      <Text size="sm" mb="xs">
        Choose another commit, or validate the case all the same and say why. The reason is exported with the rows.
      </Text>
      <Textarea
        label="Why it is right all the same"
        autosize
        minRows={2}
        value={why}
        onChange={(event) => setWhy(event.currentTarget.value)}
      />
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onCancel}>
          Back
        </Button>
        <Button color="rust" disabled={why.trim() === ""} onClick={() => onOverride(why.trim())}>
          Validate anyway
        </Button>
      </Group>
    </Dialog>
  );
}
