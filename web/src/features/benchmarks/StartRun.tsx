/** The form that starts a run, with what it would take and could show before anything is spent. */
import {
  Button,
  Group,
  Modal,
  MultiSelect,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Candidates, CandidatesField } from "@/ui/cases";
import { count, plural } from "@/ui/format";
import { Facts } from "@/ui/Page";
import classes from "./benchmarks.module.css";
import { type Spec, useDatasets, useFittingMetrics, useJudges, useMetrics, usePlan, useRuns, useStart } from "./data";
import { decimals, money } from "./figures";

const MODELS = ["recorded", "local/smollm2", "openai/gpt-4o"];
/** Kinds of model that only the command line takes are not offered. */
const takenHere = (model: string) => !/^(python|command|https?|retriever):/.test(model);

export function StartRun({ opened, close }: { opened: boolean; close: () => void }) {
  const navigate = useNavigate();
  const start = useStart((run) => void navigate({ to: "/benchmarks/runs/$runId", params: { runId: run.id } }));
  const [dataset, setDataset] = useState<string | null>(null);
  // Candidates are told apart in datasets of the store alone.
  const stored = useDatasets().data?.find(({ name, origin }) => name === dataset && origin === "store");
  const [candidates, setCandidates] = useState<Candidates>("exclude");
  const [model, setModel] = useState("");
  const [own, setChosen] = useState<string[] | null>(null);
  const fitting = useFittingMetrics(dataset);
  const chosen = own ?? fitting.data ?? [];
  const [trials, setTrials] = useState(1);
  const [budget, setBudget] = useState<number | string>("");
  const [judge, setJudge] = useState("");
  const [system, setSystem] = useState("");
  const [temperature, setTemperature] = useState<number | string>("");
  const [tokens, setTokens] = useState<number | string>("");
  // Answers that are stored already are not asked for: nothing is sent.
  const asked = model.trim() !== "recorded";
  const params = {
    ...(system.trim() && { system }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof tokens === "number" && { max_tokens: tokens }),
  };
  const metrics = useMetrics();
  const judged = (metrics.data ?? []).some((each) => each.judged && chosen.includes(each.name));
  const spec: Spec | null =
    dataset && model.trim() && chosen.length
      ? ({
          dataset,
          model: model.trim(),
          metrics: chosen,
          trials,
          ...(stored ? { candidates } : {}),
          ...(asked ? { params } : {}),
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
          <DatasetField
            value={dataset}
            onChange={(name) => {
              setDataset(name);
              setChosen(null);
            }}
          />
          {stored && <CandidatesField value={candidates} waiting={stored.candidates} onChange={setCandidates} />}
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
          {asked && (
            <details className={classes.sent}>
              <summary>System prompt and parameters</summary>
              <Textarea
                label="System prompt"
                description="Sent before the conversation of each case."
                autosize
                minRows={2}
                maxRows={10}
                dir="auto"
                value={system}
                onChange={(event) => setSystem(event.currentTarget.value)}
              />
              <SimpleGrid cols={2} mt="sm">
                <NumberInput
                  label="Temperature"
                  placeholder="the model's own"
                  min={0}
                  max={2}
                  step={0.1}
                  decimalScale={2}
                  value={temperature}
                  onChange={setTemperature}
                />
                <NumberInput
                  label="Most tokens of an answer"
                  placeholder="the model's own"
                  min={1}
                  allowDecimal={false}
                  thousandSeparator=","
                  value={tokens}
                  onChange={setTokens}
                />
              </SimpleGrid>
            </details>
          )}
          <Estimate spec={spec} />
          {start.isError && (
            <p role="alert" className={classes.runProblem}>
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

type JudgeFieldProps = { value: string; metrics: readonly string[]; onChange: (name: string) => void };

/** Who judges, with how far that judge is known to agree with people on the chosen metrics. */
function JudgeField({ value, metrics, onChange }: JudgeFieldProps) {
  const judges = useJudges();
  const known = judges.data ?? [];
  const fallback = known.find((judge) => judge.default)?.name ?? "offline";
  const chosen = known.find((judge) => judge.name === (value.trim() || fallback));
  const figures = (chosen?.calibrations ?? []).filter((figure) => metrics.includes(figure.metric));
  const trust =
    figures.length === 0
      ? "Not calibrated against people's labels on these metrics."
      : figures
          .map(({ metric, value: kappa, low, high, labels }) =>
            kappa == null
              ? `${metric}: ${labels} labels, agreement not defined.`
              : `${metric}: kappa ${decimals(kappa)} (${decimals(low)} to ${decimals(high)}, ${labels} labels).`,
          )
          .join(" ");
  return (
    <>
      <TextInput
        label="Judge"
        description={trust}
        placeholder={fallback}
        list="benchmark-judges"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id="benchmark-judges">
        {[...new Set([...known.map((judge) => judge.name), "openai/gpt-4o", "local/smollm2"])].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

/** What a run would take and could show, asked of the server while the form is filled in. */
function Estimate({ spec }: { spec: Spec | null }) {
  const [settled] = useDebouncedValue(spec, 400);
  const plan = usePlan(settled);
  return (
    <div className={classes.estimate} aria-live="polite">
      {!settled && <p className={classes.runNote}>Choose a dataset, a model and a metric to see what it would take.</p>}
      {settled && plan.isError && <p className={classes.runProblem}>{plan.error.message}</p>}
      {settled && plan.isPending && <p className={classes.runNote}>Estimating…</p>}
      {plan.data && (
        <>
          <Facts
            facts={[
              ["Cases", count(plan.data.cases)],
              ["The model", plan.data.calls ? plural(plan.data.calls, "call") : "not called"],
              ["The judge", plan.data.judge && `${plan.data.judge}, ${plural(plan.data.judge_calls, "call")}`],
              ["Cost", priceInWords(plan.data.cost)],
              ["Judging", plan.data.judge && priceInWords(plan.data.judge_cost ?? null)],
            ]}
          />
          <p className={classes.runNote}>
            The smallest difference this many cases can show is about {decimals(plan.data.smallest_visible_effect)}.
          </p>
        </>
      )}
    </div>
  );
}

function priceInWords(cost: number | null): string {
  return cost === null ? "unknown: no price is known" : cost === 0 ? "nothing" : `about ${money(cost)}`;
}
