/** The filters of the list. */
import { type FilterField, FilterRow } from "@/ui/filters";
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

const FIELDS: readonly FilterField<CaseView>[] = [
  { key: "tier", label: "Worth", known: TIERS, words: WORTH },
  { key: "kind", label: "Kind", known: KINDS, words: KIND },
  { key: "review", label: "Review", known: REVIEWS, words: REVIEW },
  { key: "status", label: "Status", known: STATUSES, words: STATUS },
];

export function CaseFilters({ view, onChange }: { view: CaseView; onChange: (next: CaseView) => void }) {
  const facets = useFacets();
  const fields: readonly FilterField<CaseView>[] = [
    ...FIELDS,
    { key: "dataset", label: "Dataset", known: names(facets.data?.datasets) },
    { key: "tag", label: "Tag", known: names(facets.data?.tags) },
  ];
  return <FilterRow what="cases" view={view} fields={fields} onChange={onChange} />;
}

function names(facets: readonly { name: string }[] | undefined): string[] {
  return facets?.map((facet) => facet.name) ?? [];
}
