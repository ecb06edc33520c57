import { beforeEach, expect, test, vi } from "vitest";
import { readKept, writeKept } from "./kept";

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
