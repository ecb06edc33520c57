import { beforeEach, describe, expect, it, test, vi } from "vitest";
import { snippetsFor } from "./Beginning";
import { referenceText, remarkText, statedAnswer } from "./cases";
import { chipsOf, type Field } from "./filterbar/fields";
import { nextFocus, readKept, writeKept } from "./forms";

it("focuses what took the place of a removed row, the last one, or none", () => {
  expect(nextFocus(1, 3)).toBe(1);
  expect(nextFocus(3, 3)).toBe(2);
  expect(nextFocus(0, 0)).toBe(-1);
});

function aShelf(held = new Map<string, string>()) {
  return {
    getItem: (name: string) => held.get(name) ?? null,
    setItem: (name: string, value: string) => void held.set(name, value),
    removeItem: (name: string) => void held.delete(name),
  };
}

beforeEach(() => void vi.unstubAllGlobals());

test("what was typed is read again under its name, and gone once it was let go", () => {
  const shelf = aShelf();
  writeKept("case a/1", { expected: "Three days." }, shelf);
  writeKept("case a/2", { expected: "Never." }, shelf);
  expect(readKept("case a/1", shelf)).toEqual({ expected: "Three days." });
  writeKept("case a/1", null, shelf);
  expect(readKept("case a/1", shelf)).toBeNull();
  expect(readKept("case a/2", shelf)).toEqual({ expected: "Never." });
});

test("a browser that forbids storage loses the keeping, not the form", () => {
  vi.stubGlobal("sessionStorage", {
    getItem: () => {
      throw new DOMException("denied");
    },
    setItem: () => {
      throw new DOMException("full");
    },
    removeItem: () => undefined,
  });
  expect(() => writeKept("case", "text")).not.toThrow();
  expect(readKept("case")).toBeNull();
});

test("a value that is no JSON is no value", () => {
  vi.stubGlobal("sessionStorage", aShelf(new Map([["evergold.unsent.case", "{half"]])));
  expect(readKept("case")).toBeNull();
});

const correction = { entry_type: "correction", output: "April.", expected: "no, later" } as const;
const revised = { text: "Since May.", trace_id: "t2" };

describe("the reference of a case", () => {
  it("is never the remark of a user", () => {
    expect(referenceText(correction)).toBe("");
    expect(remarkText(correction)).toBe("no, later");
    expect(referenceText({ ...correction, revised })).toBe("Since May.");
  });
  it("is what a person wrote, also where that is nothing", () => {
    expect(referenceText({ ...correction, revised, approved: { text: "In May." } })).toBe("In May.");
    expect(statedAnswer({ ...correction, revised, approved: { text: "" } })).toBe("");
  });
  it("is the answer that was sent as the correction, which is then no remark", () => {
    const sent = { ...correction, expected: "Since May.", revised: { text: "Since May." } };
    expect([referenceText(sent), remarkText(sent)]).toEqual(["Since May.", ""]);
  });
  it("is the source's, else the recorded answer of a golden case", () => {
    expect(referenceText({ entry_type: "golden", output: "May.", expected: null })).toBe("May.");
    expect(referenceText({ entry_type: "golden", output: "May.", expected: "In May." })).toBe("In May.");
    expect(referenceText({ entry_type: "failure", output: "April." })).toBe("");
  });
});

test("every snippet has the address, and the token where there is one", () => {
  for (const { name, text } of snippetsFor("https://evals.example", "secret-1")) {
    expect(text, name).toContain("https://evals.example");
    expect(text, name).toContain("secret-1");
  }
  for (const { name, text } of snippetsFor("https://evals.example", null)) {
    expect(text, name).not.toMatch(/Authorization|token/);
  }
});

type View = { took_min?: number; took_max?: number };

const FIELDS: Field<View>[] = [{ type: "range", key: "took_min", upTo: "took_max", label: "Took (s)", scale: 1000 }];

describe("chipsOf", () => {
  it("shows a bound in the unit of its label, and takes away that bound alone", () => {
    const view = { took_min: 1500, took_max: 20_000 };
    const chips = chipsOf(view, FIELDS);
    expect(chips.map(({ text }) => text)).toEqual(["Took (s) from 1.5", "Took (s) up to 20"]);
    expect(chips[0]?.without).toEqual({ took_max: 20_000 });
  });
});
