import { describe, expect, it } from "vitest";
import type { CaseDetail } from "./data";
import { referenceOrigin } from "./reference";

const from = (origin: string | null, trace_id: string | null = null) =>
  referenceOrigin({
    reference_answer: origin && { text: "Lima.", origin },
    revised: { text: "Lima.", trace_id },
  } as CaseDetail);

describe("the origin of a reference", () => {
  it("has words for every origin", () => {
    expect(from("person")).toContain("person");
    expect(from("source")).toContain("source");
    expect(from("confirmed")).toContain("confirmed");
    expect(from("candidate")).toContain("no person");
    expect(from("revised")).toContain("correction");
    expect(from("revised", "t9")).toContain("assistant");
    expect(from(null)).toContain("No reference");
  });
});
