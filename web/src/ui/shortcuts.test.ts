import { describe, expect, it } from "vitest";
import { clashing } from "./shortcuts";

describe("keys", () => {
  it("do not act alone and begin a sequence", () => {
    expect(clashing(["g t", "g r", "t", "+", "G"])).toEqual([]);
    expect(clashing(["g t", "g", "b"])).toEqual(["g"]);
  });
});
