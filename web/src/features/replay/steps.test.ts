import { expect, test } from "vitest";
import type { AlignedCall } from "./data";
import { changedArguments, spentInWords, stepRows, totals } from "./steps";

const call = (name: string, args = {}) => ({ name, args, failed: false }) as unknown as AlignedCall["made"];
const row = (state: AlignedCall["state"], step: number | null, made: string | null, recorded?: string): AlignedCall =>
  ({ state, step, recorded: recorded ? call(recorded) : null, made: made ? call(made) : null }) as AlignedCall;

const names = (rows: ReturnType<typeof stepRows>) =>
  rows.map(({ step, recorded, cells }) => [
    step,
    recorded?.name ?? null,
    ...cells.map((cell) => cell?.made?.name ?? null),
  ]);

test("one replay is the record with its calls beside it", () => {
  const side = [row("same", 0, "find", "find"), row("extra", null, "look"), row("missing", 1, null, "cancel")];
  expect(names(stepRows([side]))).toEqual([
    [0, "find", "find"],
    [null, null, "look"],
    [1, "cancel", null],
  ]);
});

test("two replays share the recorded steps, and calls between two steps stand beside each other", () => {
  const first = [row("same", 0, "find", "find"), row("extra", null, "look"), row("same", 1, "pay", "pay")];
  const second = [
    row("extra", null, "greet"),
    row("same", 0, "find", "find"),
    row("extra", null, "wait"),
    row("extra", null, "wait again"),
    row("missing", 1, null, "pay"),
    row("extra", null, "leave"),
  ];
  expect(names(stepRows([first, second]))).toEqual([
    [null, null, null, "greet"],
    [0, "find", "find", "find"],
    [null, null, "look", "wait"],
    [null, null, null, "wait again"],
    [1, "pay", "pay", null],
    [null, null, null, "leave"],
  ]);
});

test("nothing recorded and calls made are rows without a step; nothing at all is no row", () => {
  expect(names(stepRows([[row("extra", null, "look")], []]))).toEqual([[null, null, "look", null]]);
  expect(stepRows([[], []])).toEqual([]);
});

test("requests without a call are the answers; an unknown price stays unknown", () => {
  const made = { message: 0, input_tokens: 10, output_tokens: 2, cost: 0.5, latency_ms: 1500 };
  const said = { message: 2, input_tokens: 20, output_tokens: 3, cost: null, latency_ms: null };
  const { all, answers } = totals({ spent: [made, said], rows: [{ ...row("same", 0, "find", "find"), spent: made }] });
  expect(all).toEqual({ tokens: 35, cost: 0.5, seconds: 1.5 });
  expect(answers).toEqual({ tokens: 23, cost: null, seconds: null });
  expect([spentInWords(all), spentInWords(answers)]).toEqual(["35 tokens · $0.5000 · 1.5 s", "23 tokens"]);
});

test("changed arguments are named by their own side", () => {
  const [one, other] = [call("f", { a: 1, b: [2], c: "x" }), call("f", { a: 1, b: [3] })];
  if (!one || !other) throw new Error("two calls");
  expect([...changedArguments(one, other)]).toEqual(["b", "c"]);
  expect([...changedArguments(other, one)]).toEqual(["b"]);
  expect(changedArguments(one, null).size).toBe(0);
});
