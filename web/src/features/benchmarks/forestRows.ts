/** A comparison as rows of a forest plot. Right is better in every row; what is unknown has no place on it. */
import { count, duration, plural } from "@/ui/format";
import type { Comparison } from "./data";
import { decimals, money } from "./figures";

export type Tone = "better" | "worse" | "same" | "inconclusive";
export type Kind = "quality" | "errors" | "ratio";

/** `place`, `low` and `high` lie from -1 (worst shown) to 1; `band` is half the width in which nothing matters. */
export type ForestRow = {
  kind: Kind;
  measure: string;
  candidate: string;
  first: string;
  second: string;
  place: number | null;
  low: number | null;
  high: number | null;
  band: number;
  words: string;
  interval: string;
  tone: Tone;
  verdict: string;
  note: string;
};

const LIMITS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1];
const RATIOS = [1.25, 1.5, 2, 3, 5, 10, 30, 100, 1000];

export const signed = (value: number, digits = 3) =>
  `${value > 0 ? "+" : value < 0 ? "−" : "±"}${Math.abs(value).toFixed(digits)}`;
const times = (ratio: number) => `×${ratio >= 10 ? ratio.toFixed(0) : Number(ratio.toPrecision(2))}`;

type Figure = NonNullable<Comparison["figures"]>[number];
const isDifference = ({ difference }: Figure) => typeof difference === "number";

/** The end of the axis of differences: the smallest round number that all intervals and the margin fit into. */
export function limitOf(compared: readonly Comparison[]): number {
  const ends = compared.flatMap(({ metrics, margin, figures = [] }) => [
    2 * margin,
    ...metrics.flatMap(({ low, high }) => [-low, high]),
    ...figures.filter(isDifference).flatMap(({ low, high }) => [-(low ?? 0), high ?? 0]),
  ]);
  return LIMITS.find((limit) => ends.every((end) => end <= limit)) ?? 1;
}

export function ratioLimitOf(compared: readonly Comparison[]): number {
  const ends = compared.flatMap(({ figures = [] }) =>
    figures
      .filter((figure) => !isDifference(figure))
      .flatMap(({ ratio, low, high }) => [ratio, low, high].flatMap((each) => (each ? Math.max(each, 1 / each) : []))),
  );
  return RATIOS.find((limit) => ends.every((end) => end <= limit)) ?? 1000;
}

const WORDS: Record<Tone, string> = { better: "better", worse: "worse", same: "same", inconclusive: "not decided" };

function qualityRow(
  { margin, weighted }: Comparison,
  metric: Comparison["metrics"][number],
  limit: number,
): Omit<ForestRow, "candidate"> {
  const notes = [
    plural(metric.n, weighted ? "question" : "case"),
    metric.unpaired > 0 && `${count(metric.unpaired)} not in both`,
    typeof metric.coverage === "number" && metric.coverage < 0.995 && `${Math.floor(100 * metric.coverage)} % measured`,
    metric.verdict === "inconclusive" && metric.more ? `about ${count(metric.more)} more would decide` : "",
    metric.without_errors &&
      `${WORDS[metric.without_errors]} on the ${count(metric.answered_by_both ?? 0)} both answered`,
  ];
  return {
    kind: "quality",
    measure: metric.metric,
    first: decimals(metric.first),
    second: decimals(metric.second),
    place: metric.difference / limit,
    low: metric.low / limit,
    high: metric.high / limit,
    band: margin / limit,
    words: signed(metric.difference),
    interval: `${signed(metric.low)} to ${signed(metric.high)}`,
    tone: metric.verdict,
    verdict: WORDS[metric.verdict],
    note: notes.filter(Boolean).join(" · "),
  };
}

const points = (share: number) => `${signed(100 * share, 1)} %`;
const COUNTED = [
  ["Errors", "errors"],
  ["Invalid replies", "failed"],
  ["Truncated", "truncated"],
] as const;

/** How many attempts ended so in both runs; errors with the interval of the difference of their shares. */
function countRow(
  measure: string,
  key: "errors" | "failed" | "truncated",
  { sides = [], figures = [], margin }: Comparison,
  limit: number,
): Omit<ForestRow, "candidate"> | null {
  const [before, after] = sides;
  if (!before || !after || (key !== "errors" && before[key] + after[key] === 0)) return null;
  const change = after[key] - before[key];
  const compared = figures.find(({ name }) => name === key);
  const [low, high] = [compared?.low ?? null, compared?.high ?? null];
  const isSure = low === null || high === null || low > 0 || high < 0;
  const tone: Tone = change === 0 ? "same" : !isSure ? "inconclusive" : change < 0 ? "better" : "worse";
  return {
    kind: "errors",
    measure,
    first: `${count(before[key])} of ${count(before.attempts)}`,
    second: `${count(after[key])} of ${count(after.attempts)}`,
    place: typeof compared?.difference === "number" ? compared.difference / limit : null,
    low: low === null ? null : low / limit,
    high: high === null ? null : high / limit,
    band: low === null ? 0 : margin / limit,
    words:
      change === 0
        ? after[key] === 0
          ? "none in either"
          : "as many"
        : `${count(Math.abs(change))} ${change < 0 ? "fewer" : "more"}`,
    interval: low === null || high === null ? "" : `${points(-high)} to ${points(-low)}`,
    tone,
    verdict: change === 0 ? "same" : !isSure ? "not decided" : change < 0 ? "fewer" : "more",
    note: key === "errors" ? "share of the attempts, after a retry" : "attempts, counted",
  };
}

const RATIO_WORDS: Record<string, [measure: string, less: string, more: string, note: string]> = {
  cost: ["Cost", "cheaper", "dearer", "total"],
  latency: ["Latency", "faster", "slower", "median"],
};

function ratioRow(figure: Figure, limit: number): Omit<ForestRow, "candidate"> {
  const [measure = figure.name, less = "less", more = "more", note = ""] = RATIO_WORDS[figure.name] ?? [];
  const shown = (value: number | null | undefined) =>
    typeof value !== "number" ? "unknown" : figure.unit === "$" ? money(value) : duration(value);
  const at = (ratio: number | null | undefined) => (ratio ? -Math.log(ratio) / Math.log(limit) : null);
  const { ratio, low, high } = figure;
  const tone: Tone = high && high < 1 ? "better" : low && low > 1 ? "worse" : "inconclusive";
  return {
    kind: "ratio",
    measure,
    first: shown(figure.first),
    second: shown(figure.second),
    place: at(ratio),
    low: at(high),
    high: at(low),
    band: 0,
    words: ratio ? times(ratio) : "unknown",
    interval: low && high ? `${times(low)} to ${times(high)}` : "",
    tone,
    verdict: !ratio ? "unknown" : tone === "better" ? less : tone === "worse" ? more : "not decided",
    note: ratio ? `${note} of the ${plural(figure.n ?? 0, "case")} both answered` : "not recorded in both runs",
  };
}

/** All rows, measure by measure: the candidates of one measure stand below each other. */
export function forestRows(compared: readonly Comparison[], names: ReadonlyMap<string, string>): ForestRow[] {
  const [limit, ratioLimit] = [limitOf(compared), ratioLimitOf(compared)];
  const rows = compared.flatMap((each) => {
    const candidate = names.get(each.second) ?? each.second;
    return [
      ...each.metrics.map((metric) => qualityRow(each, metric, limit)),
      ...COUNTED.map(([measure, key]) => countRow(measure, key, each, limit)).filter((row) => row !== null),
      ...(each.figures ?? []).filter(({ name }) => name in RATIO_WORDS).map((figure) => ratioRow(figure, ratioLimit)),
    ].map((row) => ({ ...row, candidate }));
  });
  const order = ["quality", "errors", "ratio"].flatMap((kind) => [
    ...new Set(rows.filter((row) => row.kind === kind).map(({ measure }) => measure)),
  ]);
  return rows.sort((one, other) => order.indexOf(one.measure) - order.indexOf(other.measure));
}
