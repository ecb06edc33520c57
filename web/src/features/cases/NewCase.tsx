/** The form of a case that somebody writes by hand. */
import { Button, Group, Text, Textarea, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "@/ui/Dialog";
import { useKept } from "@/ui/kept";
import type { Case } from "./data";
import { createCase } from "./useCaseChanges";

type NewCaseProps = { dataset: string; onClose: () => void; onMade: (made: Case) => void };

export function NewCase({ dataset: first, onClose, onMade }: NewCaseProps) {
  const [dataset, setDataset] = useState(first);
  const [input, setInput, forgetInput] = useKept("new case, question", "");
  const [expected, setExpected, forgetExpected] = useKept("new case, answer", "");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const client = useQueryClient();

  function leave() {
    forgetInput();
    forgetExpected();
    onClose();
  }

  async function save() {
    setBusy(true);
    try {
      const made = await createCase({ dataset: dataset.trim(), input, expected, kind: "chat", tags: [] });
      void client.invalidateQueries();
      leave();
      onMade(made);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  }

  return (
    <Dialog onClose={leave} closeOnClickOutside={false} title="New case" size="lg">
      <Textarea
        label="Question"
        dir="auto"
        data-autofocus
        autosize
        minRows={2}
        maxRows={10}
        value={input}
        onChange={(event) => setInput(event.currentTarget.value)}
      />
      <Textarea
        mt="sm"
        label="Expected answer"
        dir="auto"
        autosize
        minRows={3}
        maxRows={14}
        value={expected}
        onChange={(event) => setExpected(event.currentTarget.value)}
      />
      <TextInput mt="sm" label="Dataset" value={dataset} onChange={(event) => setDataset(event.currentTarget.value)} />
      {problem && (
        <Text role="alert" size="sm" c="var(--eg-rust)" mt="sm">
          {problem}
        </Text>
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={leave}>
          Cancel
        </Button>
        <Button
          disabled={!input.trim() || !expected.trim() || !dataset.trim()}
          loading={busy}
          onClick={() => void save()}
        >
          Make the case
        </Button>
      </Group>
    </Dialog>
  );
}
