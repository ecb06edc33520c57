import { describe, expect, it } from "vitest";
import type { Edit } from "../content";
import { aRowA, aRowB, aSession, askedIn, imported, validatedIn } from "./builders";
import { exportSession } from "./rows";
import { type Action, counts, EMPTY, listed, neighbour, nextIncomplete, reduce, type Session } from "./session";

const run = (session: Session, ...actions: Action[]) => actions.reduce(reduce, session);
const edited = (session: Session, ...edits: Edit[]) =>
  run(session, ...edits.map((edit): Action => ({ type: "edit", key: "1", edit })));
const paths = (session: Session, key = "1") => session.cases[key]?.content.filePaths?.map((entry) => entry.path);

describe("the editor", () => {
  it("undoes and redoes exactly", () => {
    const start = aSession("1");
    const end = validatedIn(
      edited(
        start,
        { type: "setField", field: "query", value: "new" },
        { type: "addEntry", list: "filePaths", entry: { path: "c", sources: ["manual"] } },
        { type: "moveEntry", list: "filePaths", from: 2, to: 0 },
        { type: "removeEntry", list: "lineRanges", index: 0 },
      ),
      "1",
    );
    expect(paths(end)).toEqual(["c", "pkg/a.go", "pkg/b.go"]);
    const undone = run(end, ...Array.from({ length: 5 }, (): Action => ({ type: "undo" })));
    expect(undone.cases).toEqual(start.cases);
    const redone = run(undone, ...Array.from({ length: 5 }, (): Action => ({ type: "redo" })));
    expect(redone.cases).toEqual(end.cases);
  });

  it("takes the keystrokes of one field as one change", () => {
    const typed = ["a", "ab", "abc"].reduce((session, value) => askedIn(session, "1", value), aSession("1"));
    expect(reduce(typed, { type: "undo" }).cases["1"]?.content.query).toBe("Add retries");
  });

  it("makes a validated case unvalidated when it is edited, and undo brings the verdict back", () => {
    const valid = validatedIn(aSession("1"), "1");
    const other = askedIn(valid, "1", "x");
    expect([valid, other, reduce(other, { type: "undo" })].map((session) => session.cases["1"]?.validated)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("does not validate an incomplete case", () => {
    const session = imported(EMPTY, [aRowA("1", { baseCommit: "" })]);
    expect(validatedIn(session, "1")).toBe(session);
  });

  it("forgets facts derived from what was edited", () => {
    const session = imported(EMPTY, [
      aRowA("1", { baseVerified: true, filePaths: [{ path: "a", sources: ["diff"], blobSha: "f" }] }),
    ]);
    const after = edited(
      session,
      { type: "setField", field: "baseCommit", value: "fffffff" },
      { type: "editEntry", list: "filePaths", index: 0, patch: { path: "b" } },
    );
    expect(after.cases["1"]?.content.extraA).toEqual({});
    expect(after.cases["1"]?.content.filePaths).toEqual([{ path: "b", sources: ["diff"] }]);
  });

  it("clears all, and one undo restores it", () => {
    const session = aSession("1", "2");
    const cleared = reduce(session, { type: "clearAll" });
    expect(cleared.order).toEqual([]);
    expect(reduce(cleared, { type: "undo" })).toMatchObject({ order: ["1", "2"], cases: session.cases });
  });

  it("resets a case to its import", () => {
    const session = aSession("1");
    const shorter = edited(session, { type: "removeEntry", list: "filePaths", index: 0 });
    expect(reduce(shorter, { type: "reset", key: "1" }).cases).toEqual(session.cases);
  });
});

describe("navigation", () => {
  it("finds the next incomplete from the current row on, wrapping", () => {
    const session = validatedIn(aSession("1", "2", "3", "4"), "2", "4");
    const from = (key: string) => nextIncomplete(reduce(session, { type: "select", key }));
    expect(["1", "2", "3", "4"].map(from)).toEqual(["3", "3", "1", "1"]);
    expect(nextIncomplete(validatedIn(session, "1", "3"))).toBeNull();
  });

  it("filters by status and words and counts every case once", () => {
    const session = validatedIn(imported(aSession("1", "2"), [aRowA("half", { query: "" })]), "1");
    expect(counts(session)).toEqual({ validated: 1, ready: 1, incomplete: 1, total: 3 });
    expect(listed(session, { text: "", status: "half pair" })).toEqual(["half"]);
    expect(listed(session, { text: "RETRIES pkg/a", status: "ready" })).toEqual(["2"]);
    expect(neighbour(["1", "2"], "2", 1)).toBe("2");
  });
});

describe("export", () => {
  it("writes complete validated rows without the needs flags and lists the rest", () => {
    const session = validatedIn(imported(aSession("1", "2"), [aRowA("3", { baseCommit: "" })]), "1");
    const { a, b, counts: written, leftOut } = exportSession(session);
    const { needsQuery: _query, needsBaseCommit: _commit, ...expected } = aRowA("1");
    expect(JSON.parse(a)).toEqual(expected);
    expect(Object.keys(JSON.parse(b))).toEqual([
      "workspaceId",
      "taskId",
      "flowId",
      "caseId",
      "caseIndex",
      "query",
      "baseCommit",
      "lineRanges",
    ]);
    expect(written).toEqual({ a: 1, b: 1 });
    expect(leftOut).toEqual([
      { caseId: "2", lacks: ["not marked as validated yet"] },
      { caseId: "3", lacks: ["base commit is empty"] },
    ]);
  });

  it("carries unknown keys through", () => {
    const session = validatedIn(imported(EMPTY, [aRowB("1", { custom: { deep: [1] } })]), "1");
    expect(JSON.parse(exportSession(session).b)).toMatchObject({ custom: { deep: [1] } });
  });
});
