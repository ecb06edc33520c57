/** The recorded calls of a case with what one or two replays made of each, as rows of one table. */
import type { AlignedCall, AlignedTrajectory, Call, Spent } from "./data";

export type StepRow = { step: number | null; recorded: Call | null; cells: (AlignedCall | null)[] };
type Total = { tokens: number; cost: number | null; seconds: number | null };

/** Recorded steps stand in one row on all sides; calls that nobody recorded stand between them, beside each other. */
export function stepRows(sides: readonly (readonly AlignedCall[])[]): StepRow[] {
  const split = sides.map(bySteps);
  const last = Math.max(0, ...split.map(({ steps }) => Math.max(-1, ...steps.keys()) + 1));
  const rows: StepRow[] = [];
  for (let step = 0; step <= last; step += 1) {
    const between = split.map(({ before }) => before.get(step) ?? []);
    for (let at = 0; at < Math.max(...between.map((calls) => calls.length)); at += 1)
      rows.push({ step: null, recorded: null, cells: between.map((calls) => calls[at] ?? null) });
    const cells = split.map(({ steps }) => steps.get(step) ?? null);
    const recorded = cells.find((cell) => cell?.recorded)?.recorded ?? null;
    if (recorded) rows.push({ step, recorded, cells });
  }
  return rows;
}

/** The rows of one side by their step, and the calls that stand before each step. */
function bySteps(rows: readonly AlignedCall[]) {
  const steps = new Map<number, AlignedCall>();
  const before = new Map<number, AlignedCall[]>();
  let next = 0;
  for (const row of rows) {
    if (row.step === null || row.step === undefined) before.set(next, [...(before.get(next) ?? []), row]);
    else {
      steps.set(row.step, row);
      next = row.step + 1;
    }
  }
  return { steps, before };
}

/** What a trajectory took in all, and what of it went into requests that made no call. */
export function totals({ spent, rows }: Pick<AlignedTrajectory, "spent" | "rows">): { all: Total; answers: Total } {
  const withCalls = new Set(rows.flatMap((row) => (row.spent ? [row.spent.message] : [])));
  return { all: sum(spent), answers: sum(spent.filter((one) => !withCalls.has(one.message))) };
}

function sum(spent: readonly Spent[]): Total {
  const add = (values: readonly (number | null | undefined)[]) => {
    const known = values.filter((value): value is number => typeof value === "number");
    return known.length > 0 ? known.reduce((whole, value) => whole + value, 0) : null;
  };
  const milliseconds = add(spent.map((one) => one.latency_ms));
  return {
    tokens: add(spent.flatMap((one) => [one.input_tokens, one.output_tokens])) ?? 0,
    cost: add(spent.map((one) => one.cost)),
    seconds: milliseconds === null ? null : milliseconds / 1000,
  };
}

/** The names of arguments that differ between two calls; none where there is no other call. */
export function changedArguments(call: Call, other: Call | null | undefined): Set<string> {
  if (!other) return new Set();
  const [own, others] = [call.args ?? {}, other.args ?? {}];
  return new Set(Object.keys(own).filter((name) => JSON.stringify(own[name]) !== JSON.stringify(others[name])));
}

/** Tokens, money and time in one line; unknown is left out, never written as free. */
export function spentInWords({ tokens, cost, seconds }: Total): string {
  const parts = [
    tokens > 0 ? `${tokens.toLocaleString("en-US")} tokens` : "",
    cost === null ? "" : `$${cost.toFixed(cost < 1 ? 4 : 2)}`,
    seconds === null || seconds < 0.05 ? "" : `${seconds.toFixed(1)} s`,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** What a whole trajectory took; a price that nobody knows is named. */
export function allInWords(total: Total): string {
  if (total.tokens === 0 && total.cost === null) return "no tokens";
  return `${spentInWords(total)}${total.cost === null ? " · price unknown" : ""}`;
}

export const spentOf = (one: Spent): string => spentInWords(sum([one]));
