import { expect, test } from "vitest";
import type { Mean, Run } from "./data";
import { datasetsOf, linesOf } from "./trendLines";

const run = (id: string, model: string, ended: string, status = "completed") =>
  ({ id, status, spec: { dataset: "live", model }, ended_at: ended }) as unknown as Run;
const mean = (value: number | null) => [{ metric: "exact", value }] as unknown as Mean[];

test("a line for each model, oldest run first; what has no mean or is not over is left out", () => {
  const runs = [run("b", "m", "2026-02-02"), run("a", "m", "2026-01-01"), run("c", "n", "2026-01-01", "failed")];
  const means = { a: mean(0.5), b: mean(0.7), c: mean(0.1) };
  expect([...datasetsOf(runs, means)]).toEqual([["live", ["exact"]]]);
  expect(
    linesOf(runs, means, "live", "exact").map(({ model, points }) => [model, points.map((p) => p.run.id)]),
  ).toEqual([["m", ["a", "b"]]]);
  expect(linesOf(runs, { a: mean(null) }, "live", "exact")).toEqual([]);
});
