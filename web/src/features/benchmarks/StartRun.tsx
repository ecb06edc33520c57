/** The form that starts a run, with what it would take and could show before anything is spent. */
import { Button, Group, Modal, MultiSelect, NumberInput, Select, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { count } from "@/ui/format";
import { type Spec, useDatasets, useMetrics, useRuns, useStart } from "./data";
import { Estimate } from "./Estimate";
import { JudgeField } from "./JudgeField";
import classes from "./run.module.css";

const MODELS = ["recorded", "local/smollm2", "openai/gpt-4o"];
/** Kinds of model that only the command line takes are not offered. */
const takenHere = (model: string) => !/^(python|command|https?|retriever):/.test(model);

export function StartRun({ opened, close }: { opened: boolean; close: () => void }) {
  const navigate = useNavigate();
  const start = useStart((run) => void navigate({ to: "/benchmarks/runs/$runId", params: { runId: run.id } }));
  const [dataset, setDataset] = useState<string | null>(null);
  const [model, setModel] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const [trials, setTrials] = useState(1);
  const [budget, setBudget] = useState<number | string>("");
  const [judge, setJudge] = useState("");
  const metrics = useMetrics();
  const judged = (metrics.data ?? []).some((each) => each.judged && chosen.includes(each.name));
  const spec: Spec | null =
    dataset && model.trim() && chosen.length
      ? ({
          dataset,
          model: model.trim(),
          metrics: chosen,
          trials,
          ...(judged && judge.trim() ? { judge: judge.trim() } : {}),
          ...(typeof budget === "number" ? { budget_money: budget } : {}),
        } as Spec)
      : null;
  return (
    <Modal opened={opened} onClose={close} title="New run" size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (spec) start.mutate(spec);
        }}
      >
        <Stack>
          <DatasetField value={dataset} onChange={setDataset} />
          <TextInput
            label="Model"
            description="openai/gpt-4o, local/smollm2, or recorded for the answers stored in the cases"
            placeholder="recorded"
            list="benchmark-models"
            value={model}
            onChange={(event) => setModel(event.currentTarget.value)}
          />
          <KnownModels />
          <MetricsField value={chosen} onChange={setChosen} />
          {judged && <JudgeField value={judge} metrics={chosen} onChange={setJudge} />}
          <SimpleGrid cols={2}>
            <NumberInput
              label="Trials"
              min={1}
              max={100}
              value={trials}
              onChange={(value) => setTrials(Number(value) || 1)}
            />
            <NumberInput
              label="Budget"
              placeholder="no limit"
              prefix="$"
              min={0.01}
              decimalScale={2}
              value={budget}
              onChange={setBudget}
            />
          </SimpleGrid>
          <Estimate spec={spec} />
          {start.isError && (
            <p role="alert" className={classes.problem}>
              {start.error.message}
            </p>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Close
            </Button>
            <Button type="submit" disabled={!spec} loading={start.isPending}>
              Start
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function DatasetField({ value, onChange }: { value: string | null; onChange: (name: string | null) => void }) {
  const datasets = useDatasets();
  const usable = (datasets.data ?? []).filter((each) => !each.problems?.length);
  const names = new Set((datasets.data ?? []).map((each) => each.name));
  const broken = [...names].filter((name) => !usable.some((each) => each.name === name));
  return (
    <Select
      label="Dataset"
      placeholder="Choose one"
      searchable
      nothingFoundMessage="No such dataset"
      data={[
        ...usable.map(({ name, tasks }) => ({ value: name, label: `${name} (${count(tasks)})` })),
        ...broken.map((name) => ({ value: name, label: `${name} (cannot be used)`, disabled: true })),
      ]}
      value={value}
      onChange={onChange}
    />
  );
}

/** What can be measured without a judge comes first: it costs nothing and says the same every time. */
function MetricsField({ value, onChange }: { value: string[]; onChange: (names: string[]) => void }) {
  const metrics = useMetrics();
  const named = (judged: boolean) =>
    (metrics.data ?? []).filter((each) => each.judged === judged).map(({ name }) => ({ value: name, label: name }));
  const help = (metrics.data ?? []).filter((each) => value.includes(each.name));
  return (
    <MultiSelect
      label="Metrics"
      description={help.map(({ name, description }) => `${name}: ${description}`).join(" ") || undefined}
      placeholder={value.length ? "" : "Choose one or more"}
      searchable
      nothingFoundMessage="No such metric"
      data={[
        { group: "A judge decides", items: named(true) },
        { group: "Computed", items: named(false) },
      ]}
      value={value}
      onChange={onChange}
    />
  );
}

/** Models that were run before, and a few to begin with, offered while one types. */
function KnownModels() {
  const runs = useRuns();
  const models = new Set([...(runs.data?.runs ?? []).map((run) => run.spec.model), ...MODELS]);
  return (
    <datalist id="benchmark-models">
      {[...models].filter(takenHere).map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
