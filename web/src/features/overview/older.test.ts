import { describe, expect, it } from "vitest";
import { olderTraces } from "./older";

const held = (in_period: number, oldest: string | null, traces = 173) => ({
  traces,
  in_period,
  oldest,
  as_of: "2026-11-17T12:00:00Z",
});

describe("older traces", () => {
  it("are named with the shortest period that holds all", () => {
    expect(olderTraces(held(3, "2026-09-01T00:00:00Z"), "30d")).toEqual({ hidden: 170, period: "90d" });
    expect(olderTraces(held(0, "2026-02-01T00:00:00Z"), "24h")).toEqual({ hidden: 173, period: "365d" });
  });

  it("lead to all traces where no period holds them", () => {
    expect(olderTraces(held(3, "2023-05-01T00:00:00Z"), "30d")).toEqual({ hidden: 170 });
    expect(olderTraces(held(3, null), "365d")).toEqual({ hidden: 170 });
  });

  it("are not named where the period holds at least half, or there are none", () => {
    expect(olderTraces(held(87, "2023-05-01T00:00:00Z"), "30d")).toBeNull();
    expect(olderTraces(held(173, "2026-11-10T00:00:00Z"), "30d")).toBeNull();
    expect(olderTraces(held(0, null, 0), "30d")).toBeNull();
  });
});
