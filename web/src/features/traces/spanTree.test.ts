import { describe, expect, it } from "vitest";
import { billOf, shownRows, spanTree, ticks } from "./spanTree";

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

describe("many spans", () => {
  const chain = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ id: `s${at}`, parent_id: at ? `s${at - 1}` : null }));

  it("may nest deeper than calls may", () => {
    const { rows } = spanTree(chain(20_000));
    expect(rows.at(-1)).toMatchObject({ depth: 19_999, children: 0 });
  });

  it("fold away what is below, and show the way down to what a search finds", () => {
    const { rows } = spanTree([...chain(4), { id: "other" }]);
    const ids = (shown: typeof rows) => shown.map(({ span }) => span.id);
    expect(ids(shownRows(rows, new Set(["s1"]), null))).toEqual(["s0", "s1", "other"]);
    const found = shownRows(rows, new Set(["s1"]), ({ span }) => span.id === "s2" || span.id === "s3");
    expect(ids(found)).toEqual(["s0", "s1", "s2", "s3"]);
    expect(shownRows(rows, new Set(), () => false)).toEqual([]);
  });
});

describe("ticks", () => {
  it("are round and within the whole", () => {
    expect(ticks(1830)).toEqual([0, 500, 1000, 1500]);
    expect(ticks(0)).toEqual([0]);
  });
});

it("says tokens and cost where they were recorded, and nothing where not", () => {
  expect(billOf({ input_tokens: 1200, output_tokens: 34, cost: 0.0123 })).toBe("1,234 tokens · $0.012");
  expect(billOf({ tokens: 12 })).toBe("12 tokens");
  expect(billOf({ tokens: "many", cost: Number.NaN })).toBe("");
  expect(billOf(null)).toBe("");
});
