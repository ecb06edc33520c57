/** Who judges, with how far that judge is known to agree with people on the chosen metrics. */
import { TextInput } from "@mantine/core";
import { useJudges } from "./data";
import { decimals } from "./words";

type JudgeFieldProps = { value: string; metrics: readonly string[]; onChange: (name: string) => void };

export function JudgeField({ value, metrics, onChange }: JudgeFieldProps) {
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
