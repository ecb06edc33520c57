/** What one step took of tokens and money, in a few words; empty where neither was recorded. */
import { count, dollars } from "@/ui/format";

type Metadata = { [key: string]: unknown } | null | undefined;

const number = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null;

export function billOf(metadata: Metadata): string {
  const read = number(metadata?.input_tokens);
  const written = number(metadata?.output_tokens);
  const tokens = number(metadata?.tokens) ?? number(metadata?.total_tokens) ?? ((read ?? 0) + (written ?? 0) || null);
  const cost = number(metadata?.cost);
  return [tokens && `${count(tokens)} tokens`, cost && dollars(cost)].filter(Boolean).join(" · ");
}
