import { describe, expect, it } from "vitest";
import { aSession, askedIn } from "./builders";
import { Persistence, type RowStorage, STORAGE_KEY, type TextStorage } from "./persistence";
import type { CaseState } from "./session";

/** A browser's storage with a limit, as the real one has. */
function limitedStorage(limit = Number.POSITIVE_INFINITY): TextStorage {
  const held = new Map<string, string>();
  return {
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => {
      if (value.length > limit) throw new DOMException("exceeded the quota", "QuotaExceededError");
      held.set(key, value);
    },
    removeItem: (key) => void held.delete(key),
  };
}

function rowStorage(): RowStorage & { writes: string[][] } {
  const held = new Map<string, CaseState>();
  const writes: string[][] = [];
  return {
    writes,
    all: async () => [...held],
    write: async (put, removed) => {
      writes.push(put.map(([key]) => key));
      for (const [key, state] of put) held.set(key, state);
      for (const key of removed) held.delete(key);
    },
    clear: async () => held.clear(),
  };
}

describe("persistence", () => {
  it("keeps a small session in localStorage alone", async () => {
    const [local, rows] = [limitedStorage(), rowStorage()];
    const session = aSession("1", "2");
    expect(await new Persistence(local, rows).save({ ...session, current: "2" })).toEqual({ ok: true });
    const { stored } = await new Persistence(local, rows).load();
    expect(stored).toEqual({ cases: session.cases, order: ["1", "2"], current: "2" });
    expect(rows.writes).toEqual([]);
  });

  it("moves a large session to rows and then writes only what changed", async () => {
    const [local, rows] = [limitedStorage(), rowStorage()];
    const persistence = new Persistence(local, rows, 100);
    const session = aSession("1", "2", "3");
    await persistence.save(session);
    const edited = askedIn(session, "2", "new");
    await persistence.save(edited);
    const { 3: _gone, ...left } = edited.cases;
    await persistence.save({ ...edited, cases: left, order: ["1", "2"] });
    expect(rows.writes).toEqual([["1", "2", "3"], ["2"], []]);
    const { stored } = await new Persistence(local, rows).load();
    expect(stored?.order).toEqual(["1", "2"]);
    expect(stored?.cases["2"]?.content.query).toBe("new");
  });

  it("falls back to rows when localStorage is full, and says it when even the index does not fit", async () => {
    const session = aSession("1");
    expect(await new Persistence(limitedStorage(300), rowStorage()).save(session)).toEqual({ ok: true });
    const saved = await new Persistence(limitedStorage(10), rowStorage()).save(session);
    expect(saved).toMatchObject({ ok: false, reason: "quota" });
  });

  it("does not overwrite what another tab saved", async () => {
    const [local, rows] = [limitedStorage(), rowStorage()];
    const [one, two] = [new Persistence(local, rows), new Persistence(local, rows)];
    await Promise.all([one.load(), two.load()]);
    await one.save(aSession("1"));
    expect(await two.save(aSession("2"))).toMatchObject({ ok: false, reason: "other tab" });
    two.takeOver();
    expect(await two.save(aSession("2"))).toEqual({ ok: true });
  });

  it("keeps an unreadable session and says so", async () => {
    const local = limitedStorage();
    local.setItem(STORAGE_KEY, "{broken");
    const persistence = new Persistence(local, rowStorage());
    expect(await persistence.load()).toMatchObject({ stored: null, saved: { ok: false, reason: "unreadable" } });
    expect(local.getItem(STORAGE_KEY)).toBe("{broken");
    expect(await persistence.clear()).toEqual({ ok: true });
    expect(local.getItem(STORAGE_KEY)).toBeNull();
  });
});
