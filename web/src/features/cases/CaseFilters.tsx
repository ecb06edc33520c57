/** The filters of the list. Each change is a new address. */
import { changed } from "@/ui/address";
import { Choice, ClearFilters, Pick } from "@/ui/filters";
import { SearchBox } from "@/ui/SearchBox";
import { useFacets } from "./data";
import { type CaseView, KINDS, REVIEWS, STATUSES, TIERS } from "./view";

const WORTH = {
  confirmed: "Golden, confirmed",
  candidate: "Golden, not confirmed",
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
    onChange(changed(view, key, value));
  }
  const facets = useFacets();
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
      <Pick
        label="Dataset"
        known={names(facets.data?.datasets)}
        value={view.dataset}
        onChange={(value) => set("dataset", value)}
      />
      <Pick label="Tag" known={names(facets.data?.tags)} value={view.tag} onChange={(value) => set("tag", value)} />
      <ClearFilters active={Object.keys(view).length > 0} onClear={() => onChange({})} />
    </>
  );
}

function names(facets: readonly { name: string }[] | undefined): string[] {
  return facets?.map((facet) => facet.name) ?? [];
}
