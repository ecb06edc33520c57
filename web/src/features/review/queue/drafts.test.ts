import { expect, test } from "vitest";
import type { Case, CaseFile } from "./data";
import { takingBack } from "./drafts";

const entry = { dataset: "live", id: "c1", entry_type: "failure", expected: null } as unknown as Case;
const file = (...opinions: object[]) => ({ case: entry, opinions }) as unknown as CaseFile;

test("a first verdict is withdrawn, and the fields it changed go back", () => {
  const saying = { verdict: "approve" as const, changes: { entry_type: "correction" } };
  expect(takingBack({ before: file(), after: entry, saying }, "ana")).toEqual({
    verdict: "withdraw",
    changes: { entry_type: "failure" },
    adjudicate: false,
  });
});

test("a changed mind changes back to the word before", () => {
  const before = file(
    { reviewer: "ana", verdict: "approve", adjudicate: false },
    { reviewer: "bo", verdict: "dismiss" },
  );
  const saying = { verdict: "dismiss" as const };
  expect(takingBack({ before, after: entry, saying }, "ana").verdict).toBe("approve");
  expect(takingBack({ before, after: entry, saying: { verdict: "reopen" } }, "ana").verdict).toBe("withdraw");
});
