import { describe, expect, it } from "vitest";
import { aRowA, aRowB, aSession, askedIn, contentsOf, imported, validatedIn } from "./builders";
import { planImport } from "./imports";

const edited = () => askedIn(aSession("1"), "1", "mine");

describe("a re-import", () => {
  it("of the same file changes nothing, edits or not", () => {
    const plan = planImport(edited(), contentsOf(aRowA("1"), aRowB("1")));
    expect(plan).toMatchObject({ unchanged: ["1"], clashes: [], updated: [], added: [] });
  });

  it("updates a case nobody edited", () => {
    const next = imported(aSession("1"), [aRowA("1", { query: "theirs" }), aRowB("1", { query: "theirs" })]);
    expect(next.cases["1"]?.content.query).toBe("theirs");
  });

  it("asks when the reviewer edited, and merges fields changed on one side", () => {
    const rows = [
      aRowA("1", { query: "theirs", baseCommit: "fffffff" }),
      aRowB("1", { query: "theirs", baseCommit: "fffffff" }),
    ];
    const plan = planImport(edited(), contentsOf(...rows));
    expect(plan.clashes[0]?.fields).toEqual([
      { field: "query", changed: "both" },
      { field: "baseCommit", changed: "theirs" },
    ]);
    const content = (choice?: "mine" | "theirs" | { query: "theirs" }) =>
      imported(edited(), rows, choice === undefined ? {} : { 1: choice }).cases["1"]?.content;
    expect(content()).toMatchObject({ query: "mine", baseCommit: "fffffff" });
    expect(content("mine")).toMatchObject({ query: "mine", baseCommit: "abc1234def" });
    expect(content("theirs")).toMatchObject({ query: "theirs", baseCommit: "fffffff" });
    expect(content({ query: "theirs" })).toMatchObject({ query: "theirs", baseCommit: "fffffff" });
  });

  it("asks before a validated case changes, and the verdict falls with the content", () => {
    const valid = validatedIn(aSession("1"), "1");
    const rows = [aRowA("1", { query: "theirs" }), aRowB("1", { query: "theirs" })];
    expect(planImport(valid, contentsOf(...rows)).clashes).toHaveLength(1);
    expect(imported(valid, rows, { 1: "mine" }).cases["1"]?.validated).toBe(true);
    expect(imported(valid, rows, { 1: "theirs" }).cases["1"]?.validated).toBe(false);
  });

  it("adds the other half of a pair without asking and keeps the edits", () => {
    const half = askedIn(imported(aSession(), [aRowA("1")]), "1", "mine");
    const next = imported(half, [aRowB("1")]);
    expect(next.cases["1"]?.content).toMatchObject({
      query: "mine",
      filePaths: expect.any(Array),
      lineRanges: expect.any(Array),
    });
  });
});
