import { expect, it } from "vitest";
import { localMinute } from "@/ui/address";
import { linkOfAlert } from "./alertLinks";

const seen_at = "2026-01-02T10:00:30.000Z";
const since = "2026-01-02T09:00:30.000Z";

it("leads from a failing check to its failing traces within the window", () => {
  const details = { check: "grounded", below: 0.4, since };
  expect(linkOfAlert({ kind: "failing_rate", subject: "grounded", details, seen_at })).toEqual({
    to: "/traces",
    search: { score: ["grounded<0.4"], since: localMinute(since), until: localMinute("2026-01-02T10:01:30Z") },
    label: "Failing traces",
  });
});

it("leads from an alert of an earlier version to the failing traces of any time", () => {
  const link = linkOfAlert({ kind: "failing_rate", subject: "grounded", details: {}, seen_at });
  expect(link.search).toEqual({ score: ["grounded<0.3"] });
});

it("leads to the cases of a dataset, to runs, and to the newest traces", () => {
  const of = (kind: "dataset_drop" | "gate_failed" | "intake_stopped", details = {}) =>
    linkOfAlert({ kind, subject: "faq", details, seen_at });
  expect(of("dataset_drop")).toMatchObject({ to: "/cases", search: { dataset: "faq" } });
  expect(of("gate_failed", { dataset: "faq" })).toMatchObject({ to: "/benchmarks", search: { q: "faq" } });
  expect(of("intake_stopped")).toMatchObject({ to: "/traces", search: {} });
});
