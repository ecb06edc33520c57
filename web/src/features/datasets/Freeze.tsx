/** The form that freezes a dataset as it is now: which cases, in which splits. Where the files go is the server's choice. */
import { Button, Checkbox, Group, Modal, NumberInput, Select, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { ApiError } from "@/api/client";
import { type Candidates, CandidatesField } from "@/ui/cases";
import { type NewBuild, useCandidates, useFreeze } from "./data";
import classes from "./datasets.module.css";

const GROUPS = ["auto", "session", "document", "repository", "trace", "user", "none"];
const TYPES = ["golden", "failure", "correction"];
const REVIEWS = ["validated", "unvalidated"];
const LEAKS = [
  { value: "report", label: "Name them in the manifest" },
  { value: "fail", label: "Freeze nothing" },
  { value: "ignore", label: "Do not look for them" },
];

type FreezeProps = { dataset: string; opened: boolean; close: () => void; done: (version: string) => void };

export function Freeze({ dataset, opened, close, done }: FreezeProps) {
  const freeze = useFreeze((build) => done(build.version));
  const [split, setSplit] = useState("train=0.7,test=0.3");
  const [groupBy, setGroupBy] = useState("auto");
  const [seed, setSeed] = useState(0);
  const [type, setType] = useState<string | null>(null);
  const [review, setReview] = useState<string | null>(null);
  const [tag, setTag] = useState("");
  const [candidates, setCandidates] = useState<Candidates>("exclude");
  const [leaks, setLeaks] = useState("report");
  const [canary, setCanary] = useState(false);
  const filters = Object.fromEntries(
    Object.entries({ entry_type: type, review, tag: tag.trim() }).filter(([, value]) => value),
  ) as Record<string, string>;
  const [settled] = useDebouncedValue(filters, 400);
  const waiting = useCandidates(dataset, settled, opened);
  const wanted: NewBuild = {
    dataset,
    split: split.trim() || null,
    group_by: groupBy,
    seed,
    filters: candidates === "exclude" ? filters : { ...filters, candidates },
    on_leak: leaks,
    canary,
  };
  return (
    <Modal opened={opened} onClose={close} title={`Freeze ${dataset}`} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          freeze.mutate(wanted);
        }}
      >
        <Stack>
          <p className={classes.calm}>A version holds the cases as they are now, for ever. It gets the next number.</p>
          <TextInput
            label="Splits"
            description="Names and shares, as in train=0.7,test=0.3; empty for a single one"
            value={split}
            onChange={(event) => setSplit(event.currentTarget.value)}
          />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <Select
              label="Keep together"
              data={GROUPS}
              value={groupBy}
              allowDeselect={false}
              onChange={(value) => setGroupBy(value ?? "auto")}
            />
            <NumberInput
              label="Seed"
              min={0}
              allowDecimal={false}
              value={seed}
              onChange={(value) => setSeed(Number(value) || 0)}
            />
          </SimpleGrid>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <Select label="Only of type" placeholder="all" clearable data={TYPES} value={type} onChange={setType} />
            <Select
              label="Only reviewed as"
              placeholder="all"
              clearable
              data={REVIEWS}
              value={review}
              onChange={setReview}
            />
            <TextInput
              label="Only with tag"
              placeholder="any"
              value={tag}
              onChange={(event) => setTag(event.currentTarget.value)}
            />
          </SimpleGrid>
          <CandidatesField value={candidates} waiting={waiting.data} onChange={setCandidates} />
          <Select
            label="Near-duplicates across splits"
            data={LEAKS}
            value={leaks}
            allowDeselect={false}
            onChange={(value) => setLeaks(value ?? "report")}
          />
          <Checkbox
            label="Put a canary line on top of each file"
            checked={canary}
            onChange={(event) => setCanary(event.currentTarget.checked)}
          />
          {freeze.isError && (
            <div role="alert" className={classes.problem}>
              {freeze.error.message}
              <ul>
                {problemsOf(freeze.error).map((problem) => (
                  <li key={problem}>{problem}</li>
                ))}
              </ul>
            </div>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Close
            </Button>
            <Button type="submit" loading={freeze.isPending}>
              Freeze
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** What the server names beside its one line: the leaks that a version would have. */
function problemsOf(error: Error): string[] {
  const { problems } = ((error instanceof ApiError && error.body) || {}) as { problems?: unknown };
  return Array.isArray(problems) ? problems.filter((one) => typeof one === "string").slice(0, 10) : [];
}
