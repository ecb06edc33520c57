/** The numbers and lists of the policy that people change most. What else it says stays as it is. */
import { NumberInput, SimpleGrid, Stack, TagsInput } from "@mantine/core";
import type { Rules } from "./data";

const BUILT_IN = { thresholds: { failure_below: 0.3, golden_from: 0.8 }, limit: { candidates_per_day: 200 } };

type Policy = NonNullable<Rules["policy"]>;
type PolicyFormProps = { policy: Policy; disabled: boolean; onChange: (policy: Policy) => void };

export function PolicyForm({ policy, disabled, onChange }: PolicyFormProps) {
  const { thresholds = BUILT_IN.thresholds, limit = BUILT_IN.limit } = policy;
  const set = (changes: Partial<Policy>) => onChange({ ...policy, ...changes });
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NumberInput
          id="thresholds"
          label="Golden from"
          description="Every system score must be at least this"
          min={0.05}
          max={1}
          step={0.05}
          decimalScale={2}
          disabled={disabled}
          value={thresholds.golden_from}
          onChange={(value) => typeof value === "number" && set({ thresholds: { ...thresholds, golden_from: value } })}
        />
        <NumberInput
          label="Failure below"
          description="One score below this makes a failure"
          min={0.05}
          max={1}
          step={0.05}
          decimalScale={2}
          disabled={disabled}
          value={thresholds.failure_below}
          onChange={(value) =>
            typeof value === "number" && set({ thresholds: { ...thresholds, failure_below: value } })
          }
        />
      </SimpleGrid>
      <NumberInput
        id="limit"
        label="Candidates a day"
        description="The most that checks alone may make of one day; what the app or people score is never limited"
        min={0}
        step={50}
        allowDecimal={false}
        disabled={disabled}
        value={limit.candidates_per_day}
        onChange={(value) => typeof value === "number" && set({ limit: { ...limit, candidates_per_day: value } })}
      />
      <TagsInput
        label="Scores that do not count"
        description="Names of scores that never take part; Enter after each"
        readOnly={disabled}
        value={policy.ignore ?? []}
        onChange={(ignore) => set({ ignore })}
        clearButtonProps={{ "aria-label": "Clear the scores" }}
      />
      <TagsInput
        id="fallback_texts"
        label="Fallback texts"
        description="Replies that are never golden; a * at the end stands for whatever follows; Enter after each"
        splitChars={[]}
        readOnly={disabled}
        value={policy.fallback_texts ?? []}
        onChange={(fallback_texts) => set({ fallback_texts })}
        clearButtonProps={{ "aria-label": "Clear the fallback texts" }}
      />
    </Stack>
  );
}
