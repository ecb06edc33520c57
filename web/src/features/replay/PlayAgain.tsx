/** The form that plays one case again: a model, and how far the run is. */
import { Button, Group, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { usePlay, useUsedModels } from "./data";

export function PlayAgain({ dataset, caseId }: { dataset: string; caseId: string }) {
  const [model, setModel] = useState("");
  const models = useUsedModels();
  const play = usePlay(dataset, caseId);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (model.trim()) play.begin(model.trim());
      }}
    >
      <Group align="flex-end" gap={8} mt="md">
        <TextInput
          label="Model"
          placeholder="openai/gpt-4o"
          list="replay-models"
          w={260}
          value={model}
          onChange={(event) => setModel(event.currentTarget.value)}
        />
        <datalist id="replay-models">
          {models.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <Button type="submit" loading={play.busy} disabled={!model.trim()}>
          Play it again
        </Button>
        <output role={play.problem ? "alert" : undefined}>
          {play.problem}
          {play.run && (
            <>
              {play.busy ? "Playing…" : `The replay ${play.run.status}. `}{" "}
              <Link to="/benchmarks/runs/$runId" params={{ runId: play.run.id }}>
                Open its run
              </Link>
            </>
          )}
        </output>
      </Group>
    </form>
  );
}
