import { describe, expect, it } from "vitest";
import { duration, roughly } from "./format";

describe("durations", () => {
  it("choose their unit after rounding", () => {
    expect(duration(999.6)).toBe("1.00 s");
    expect(duration(9_996)).toBe("10.0 s");
    expect(duration(59_960)).toBe("1 min 0 s");
    expect(duration(119_600)).toBe("2 min 0 s");
    expect(duration(3_599_700)).toBe("1 h 0 min");
  });
  it("are round where they are a guess", () => {
    expect(roughly(9_190)).toBe("10 s");
    expect(roughly(58_000)).toBe("1 min");
    expect(roughly(3_590_000)).toBe("1 h");
  });
});
