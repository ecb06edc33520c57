import { describe, expect, it } from "vitest";
import { aSession, askedIn } from "./builders";
import type { TextStorage } from "./persistence";
import { type Parcel, WorkspaceCopy } from "./workspaceCopy";

function storage(): TextStorage {
  const held = new Map<string, string>();
  return {
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => void held.set(key, value),
    removeItem: (key) => void held.delete(key),
  };
}

/** A workspace that counts versions as the real one does, and in which a colleague may have changed a case. */
function workspace() {
  const versions: { [key: string]: number } = {};
  const parcels: Parcel[] = [];
  const post = async (parcel: Parcel) => {
    parcels.push(parcel);
    const ids = [...new Set(parcel.rows.map((row) => String(row.caseId)))];
    const kept = ids.filter(
      (id) => !parcel.replace && versions[id] !== undefined && versions[id] !== parcel.versions[id],
    );
    const taken = ids.filter((id) => !kept.includes(id));
    for (const id of taken) versions[id] = (versions[id] ?? 0) + 1;
    return { kept, problems: [], versions: Object.fromEntries(taken.map((id) => [id, versions[id] as number])) };
  };
  return { post, parcels, versions };
}

const sentIds = (parcel: Parcel | undefined) => [...new Set(parcel?.rows.map((row) => row.caseId))];

describe("the copy in the workspace", () => {
  it("sends everything once, then only what was edited, on the version it saw", async () => {
    const there = workspace();
    const copy = new WorkspaceCopy(storage(), there.post);
    const session = aSession("1", "2");
    expect(await copy.send(session.cases)).toEqual({ state: "copied" });
    expect(await copy.send(askedIn(session, "2", "better").cases)).toEqual({ state: "copied" });
    expect(there.parcels.map(sentIds)).toEqual([["1", "2"], ["2"]]);
    expect(there.parcels[1]?.versions).toEqual({ 2: 1 });
  });

  it("names a case that somebody changed meanwhile and overwrites it only when told to", async () => {
    const there = workspace();
    const copy = new WorkspaceCopy(storage(), there.post);
    const session = aSession("1");
    await copy.send(session.cases);
    there.versions["1"] = 7;
    const mine = askedIn(session, "1", "mine");
    expect(await copy.send(mine.cases)).toEqual({ state: "differs", keys: ["1"] });
    expect(await copy.send(mine.cases, true)).toEqual({ state: "copied" });
    expect(there.versions["1"]).toBe(8);
  });

  it("keeps what could not be sent for the next time, over a reload too", async () => {
    const [local, there] = [storage(), workspace()];
    const session = aSession("1");
    await new WorkspaceCopy(local, there.post).send(session.cases);
    const edited = askedIn(session, "1", "written while the server was away");
    const away = new WorkspaceCopy(local, () => Promise.reject(new Error("server away")));
    away.start(session.cases);
    expect(await away.send(edited.cases)).toEqual({ state: "failed", message: "server away" });
    const later = new WorkspaceCopy(local, there.post);
    later.start(edited.cases);
    expect(await later.send(edited.cases)).toEqual({ state: "copied" });
    expect(there.versions["1"]).toBe(2);
  });

  it("sends nothing again after a reload", async () => {
    const [local, there] = [storage(), workspace()];
    const session = aSession("1", "2");
    await new WorkspaceCopy(local, there.post).send(session.cases);
    const later = new WorkspaceCopy(local, there.post);
    later.start(session.cases);
    await later.send(session.cases);
    expect(there.parcels).toHaveLength(1);
  });
});
