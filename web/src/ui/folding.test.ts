import { expect, it } from "vitest";
import { folding, STEP } from "./folding";

it("shows a short text whole and a long one after a click", () => {
  expect(folding(1200, 1200, 1200)).toEqual({ shown: 1200, next: null });
  expect(folding(1201, 1200, 1200).next).toEqual({ shown: 1201, label: "Show all 1,201 characters" });
});

it("opens ten megabytes step by step, to the end", () => {
  const length = 10 * 1024 * 1024;
  const labels: string[] = [];
  let shown = 1200;
  for (let step = folding(length, 1200, shown); step.next; step = folding(length, 1200, shown)) {
    expect(step.next.shown - step.shown).toBeLessThanOrEqual(STEP);
    labels.push(step.next.label);
    shown = step.next.shown;
  }
  expect(shown).toBe(length);
  expect(labels[0]).toBe("Show the first 100,000 of 10,485,760 characters");
  expect(labels[1]).toBe("Show 100,000 more of 10,485,760 characters");
  expect(labels.at(-1)).toBe("Show all 10,485,760 characters");
});
