import { describe, expect, it } from "vitest";
import { aRowA, aRowB, aSession, imported } from "./builders";
import { exportSession } from "./exportRows";
import { counts, neighbour, nextIncomplete, visible } from "./navigation";
import { type Action, EMPTY, reduce, type Session } from "./session";

const run = (session: Session, ...actions: Action[]) => actions.reduce(reduce, session);
const paths = (session: Session, key = "1") => session.cases[key]?.content.filePaths?.map((entry) => entry.path);

describe("the editor", () => {
  it("undoes and redoes exactly", () => {
    const start = aSession("1");
    const end = run(
      start,
      { type: "setField", key: "1", field: "query", value: "new" },
      { type: "addEntry", key: "1", list: "filePaths", entry: { path: "c", sources: ["manual"] } },
      { type: "moveEntry", key: "1", list: "filePaths", from: 2, to: 0 },
      { type: "removeEntry", key: "1", list: "lineRanges", index: 0 },
      { type: "validate", keys: ["1"] },
    );
    expect(paths(end)).toEqual(["c", "pkg/a.go", "pkg/b.go"]);
    const undone = run(end, ...Array.from({ length: 5 }, (): Action => ({ type: "undo" })));
    expect(undone.cases).toEqual(start.cases);
    const redone = run(undone, ...Array.from({ length: 5 }, (): Action => ({ type: "redo" })));
    expect(redone.cases).toEqual(end.cases);
  });

  it("takes the keystrokes of one field as one change", () => {
    const typed = run(
      aSession("1"),
      ...["a", "ab", "abc"].map((value): Action => ({ type: "setField", key: "1", field: "query", value })),
    );
    expect(reduce(typed, { type: "undo" }).cases["1"]?.content.query).toBe("Add retries");
  });

  it("makes a validated case unvalidated when it is edited, and undo brings the verdict back", () => {
    const valid = run(aSession("1"), { type: "validate", keys: ["1"] });
    const edited = reduce(valid, { type: "setField", key: "1", field: "query", value: "x" });
    expect([valid, edited, reduce(edited, { type: "undo" })].map((session) => session.cases["1"]?.validated)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("does not validate an incomplete case", () => {
    const session = imported(EMPTY, [aRowA("1", { baseCommit: "" })]);
    expect(reduce(session, { type: "validate", keys: ["1"] })).toBe(session);
  });

  it("forgets facts derived from what was edited", () => {
    const session = imported(EMPTY, [
      aRowA("1", { baseVerified: true, filePaths: [{ path: "a", sources: ["diff"], blobSha: "f" }] }),
    ]);
    const edited = run(
      session,
      { type: "setField", key: "1", field: "baseCommit", value: "fffffff" },
      { type: "editEntry", key: "1", list: "filePaths", index: 0, patch: { path: "b" } },
    );
    expect(edited.cases["1"]?.content.extraA).toEqual({});
    expect(edited.cases["1"]?.content.filePaths).toEqual([{ path: "b", sources: ["diff"] }]);
  });

  it("clears all, and one undo restores it", () => {
    const session = aSession("1", "2");
    const cleared = reduce(session, { type: "clearAll" });
    expect(cleared.order).toEqual([]);
    expect(reduce(cleared, { type: "undo" })).toMatchObject({ order: ["1", "2"], cases: session.cases });
  });

  it("resets a case to its import", () => {
    const session = aSession("1");
    const edited = reduce(session, { type: "removeEntry", key: "1", list: "filePaths", index: 0 });
    expect(reduce(edited, { type: "reset", key: "1" }).cases).toEqual(session.cases);
  });
});

describe("navigation", () => {
  it("finds the next incomplete from the current row on, wrapping", () => {
    const session = run(aSession("1", "2", "3", "4"), { type: "validate", keys: ["2", "4"] });
    const from = (key: string) => nextIncomplete(reduce(session, { type: "select", key }));
    expect(["1", "2", "3", "4"].map(from)).toEqual(["3", "3", "1", "1"]);
    expect(nextIncomplete(run(session, { type: "validate", keys: ["1", "3"] }))).toBeNull();
  });

  it("filters by status and words and counts every case once", () => {
    const session = run(imported(aSession("1", "2"), [aRowA("half", { query: "" })]), {
      type: "validate",
      keys: ["1"],
    });
    expect(counts(session)).toEqual({ validated: 1, ready: 1, incomplete: 1, total: 3 });
    expect(visible(session, { text: "", status: "half pair" })).toEqual(["half"]);
    expect(visible(session, { text: "RETRIES pkg/a", status: "ready" })).toEqual(["2"]);
    expect(neighbour(["1", "2"], "2", 1)).toBe("2");
  });
});

describe("export", () => {
  it("writes complete validated rows without the needs flags and lists the rest", () => {
    const session = run(imported(aSession("1", "2"), [aRowA("3", { baseCommit: "" })]), {
      type: "validate",
      keys: ["1"],
    });
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
    const session = run(imported(EMPTY, [aRowB("1", { custom: { deep: [1] } })]), { type: "validate", keys: ["1"] });
    expect(JSON.parse(exportSession(session).b)).toMatchObject({ custom: { deep: [1] } });
  });
});
