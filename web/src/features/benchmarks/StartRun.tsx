/** The form that starts a run, with what it would take and could show before anything is spent. */
import { Button, Group, Modal, MultiSelect, NumberInput, Select, Stack, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { count } from "@/ui/format";
import classes from "./benchmarks.module.css";
import { type Spec, useDatasets, useMetrics, usePlan, useStart } from "./data";
import { decimals, money } from "./words";

export function StartRun({ opened, close }: { opened: boolean; close: () => void }) {
  const navigate = useNavigate();
  const datasets = useDatasets();
  const metrics = useMetrics();
  const start = useStart((run) => void navigate({ to: "/benchmarks/runs/$runId", params: { runId: run.id } }));
  const [dataset, setDataset] = useState<string | null>(null);
  const [model, setModel] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const [trials, setTrials] = useState(1);
  const [budget, setBudget] = useState<number | string>("");
  const spec: Spec | null =
    dataset && model.trim() && chosen.length
      ? ({
          dataset,
          model: model.trim(),
          metrics: chosen,
          trials,
          ...(typeof budget === "number" ? { budget_money: budget } : {}),
        } as Spec)
      : null;
  return (
    <Modal opened={opened} onClose={close} title="New run" size="lg">
      <Stack>
        <Select
          label="Dataset"
          searchable
          data={(datasets.data ?? []).map((each) => ({
            value: each.name,
            label: `${each.name} (${count(each.tasks)})`,
            disabled: Boolean(each.problems?.length),
          }))}
          value={dataset}
          onChange={setDataset}
        />
        <TextInput
          label="Model"
          description="openai/gpt-4o, local/smollm2, or recorded for the answers stored in the cases"
          value={model}
          onChange={(event) => setModel(event.currentTarget.value)}
        />
        <MultiSelect
          label="Metrics"
          searchable
          data={(metrics.data ?? []).map((each) => ({
            value: each.name,
            label: each.judged ? `${each.name} · judged` : each.name,
          }))}
          value={chosen}
          onChange={setChosen}
        />
        <Group grow>
          <NumberInput
            label="Trials"
            min={1}
            max={100}
            value={trials}
            onChange={(value) => setTrials(Number(value) || 1)}
          />
          <NumberInput label="Budget in dollars" min={0.01} decimalScale={2} value={budget} onChange={setBudget} />
        </Group>
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
          <Button disabled={!spec} loading={start.isPending} onClick={() => spec && start.mutate(spec)}>
            Start
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Estimate({ spec }: { spec: Spec | null }) {
  const [settled] = useDebouncedValue(spec, 400);
  const plan = usePlan(settled);
  if (!settled)
    return <p className={classes.note}>Choose a dataset, a model and a metric to see what it would take.</p>;
  if (plan.isError) return <p className={classes.problem}>{plan.error.message}</p>;
  if (!plan.data) return <p className={classes.note}>Estimating…</p>;
  const { calls, judge_calls: judged, cost, smallest_visible_effect: smallest } = plan.data;
  return (
    <p className={classes.note}>
      {count(calls)} calls, {count(judged)} of a judge; cost {money(cost)}. The smallest difference this many cases can
      show is about {decimals(smallest)}.
    </p>
  );
}
