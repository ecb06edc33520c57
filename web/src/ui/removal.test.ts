import { expect, it } from "vitest";
import { nextFocus } from "./removal";

it("focuses what took the place of a removed row, the last one, or none", () => {
  expect(nextFocus(1, 3)).toBe(1);
  expect(nextFocus(3, 3)).toBe(2);
  expect(nextFocus(0, 0)).toBe(-1);
});
