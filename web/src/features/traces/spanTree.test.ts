import { describe, expect, it } from "vitest";
import { spanTree, ticks } from "./spanTree";

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

describe("spanTree", () => {
  it("puts parents before children and siblings in order of start", () => {
    const { rows, totalMs } = spanTree([
      { id: "late", parent_id: "root", started_at: at(60), ended_at: at(90) },
      { id: "root", started_at: at(0), ended_at: at(100) },
      { id: "early", parent_id: "root", started_at: at(10), ended_at: at(20) },
    ]);
    expect(rows.map(({ span, depth }) => [span.id, depth])).toEqual([
      ["root", 0],
      ["early", 1],
      ["late", 1],
    ]);
    expect(totalMs).toBe(100);
    expect(rows[2]?.bar).toEqual({ offset: 0.6, width: 0.3 });
  });

  it("keeps a span whose parent never came, one that names itself, and a cycle", () => {
    const { rows } = spanTree([
      { id: "orphan", parent_id: "lost" },
      { id: "self", parent_id: "self" },
      { id: "a", parent_id: "b" },
      { id: "b", parent_id: "a" },
    ]);
    expect(rows.map(({ span }) => span.id).sort()).toEqual(["a", "b", "orphan", "self"]);
  });

  it("draws no bar where a time is missing and none is invented", () => {
    const { rows, totalMs } = spanTree([{ id: "a", started_at: at(0) }]);
    expect(rows[0]).toMatchObject({ bar: null, ms: null });
    expect(totalMs).toBe(0);
  });
});

describe("ticks", () => {
  it("are round and within the whole", () => {
    expect(ticks(1830)).toEqual([0, 500, 1000, 1500]);
    expect(ticks(0)).toEqual([0]);
  });
});
