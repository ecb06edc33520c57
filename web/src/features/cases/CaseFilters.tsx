/** The filters of the list. Each change is a new address. */
import { Button } from "@mantine/core";
import { Choice, Word } from "@/ui/filters";
import { SearchBox } from "@/ui/SearchBox";
import { type CaseView, KINDS, REVIEWS, STATUSES, TIERS } from "./view";

const WORTH = {
  confirmed: "Golden, confirmed",
  candidate: "Golden, candidate",
  failure: "Failure",
  correction: "Correction",
};
const KIND = {
  chat: "Chat",
  context: "Context retrieval",
  qa: "Question and answer",
  summary: "Summary",
  task: "Task",
};
const REVIEW = { unvalidated: "Not validated", validated: "Validated" };
const STATUS = { active: "Active", withdrawn: "Withdrawn", dismissed: "Dismissed", erased: "Erased" };

type CaseFiltersProps = { view: CaseView; onChange: (next: CaseView) => void };

export function CaseFilters({ view, onChange }: CaseFiltersProps) {
  function set<Key extends keyof CaseView>(key: Key, value: CaseView[Key] | null) {
    const { [key]: _, ...rest } = view;
    onChange(value ? { ...rest, [key]: value } : rest);
  }
  const active = Object.keys(view).length;
  return (
    <>
      <SearchBox label="Search cases" value={view.q ?? ""} onChange={(value) => set("q", value)} />
      <Choice label="Worth" known={TIERS} words={WORTH} value={view.tier} onChange={(value) => set("tier", value)} />
      <Choice label="Kind" known={KINDS} words={KIND} value={view.kind} onChange={(value) => set("kind", value)} />
      <Choice
        label="Review"
        known={REVIEWS}
        words={REVIEW}
        value={view.review}
        onChange={(value) => set("review", value)}
      />
      <Choice
        label="Status"
        known={STATUSES}
        words={STATUS}
        value={view.status}
        onChange={(value) => set("status", value)}
      />
      <Word label="Dataset" value={view.dataset} onChange={(value) => set("dataset", value)} />
      <Word label="Tag" value={view.tag} onChange={(value) => set("tag", value)} />
      {active > 0 && (
        <Button variant="subtle" size="sm" onClick={() => onChange({})}>
          Clear
        </Button>
      )}
    </>
  );
}
