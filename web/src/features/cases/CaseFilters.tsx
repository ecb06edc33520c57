/** The filters of the list, with the values its cases have. */
import { changed } from "@/ui/address";
import { FilterBar } from "@/ui/filterbar/FilterBar";
import type { Field, Option } from "@/ui/filterbar/fields";
import { ColumnPicker, OrderPicker } from "@/ui/filterbar/ListTools";
import { Views } from "@/ui/filterbar/Views";
import { count } from "@/ui/format";
import { CHOOSABLE, shownColumns } from "./columns";
import { type CaseFacets, useFacets } from "./data";
import { type CaseView, KINDS, ORDERS, REVIEWS, STATUSES, TIERS } from "./view";

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
const ORDER = { newest: "Newest first", oldest: "Oldest first", changed: "Last changed first" };

export function CaseFilters({ view, onChange }: { view: CaseView; onChange: (next: CaseView) => void }) {
  const facets = useFacets(view);
  return (
    <FilterBar
      what="cases"
      view={view}
      fields={fieldsOf(facets.data)}
      onChange={onChange}
      note={
        facets.data && !facets.data.exact
          ? `Counts are of the newest ${count(facets.data.total)} cases of this list.`
          : undefined
      }
    >
      <OrderPicker
        orders={ORDERS.map((value) => ({ value, label: ORDER[value] }))}
        value={view.order}
        onChange={(order) => onChange(changed(view, "order", order as CaseView["order"] | null))}
      />
      <ColumnPicker
        columns={CHOOSABLE}
        shown={shownColumns(view)}
        onChange={(columns) => onChange(changed(view, "columns", columns))}
      />
      <Views page="cases" />
    </FilterBar>
  );
}

function fieldsOf(facets: CaseFacets | undefined): Field<CaseView>[] {
  const worded = <Value extends string>(
    known: readonly Value[],
    words: Record<Value, string>,
    held?: readonly Option[],
  ) => known.map((value) => ({ value, label: words[value], count: held?.find((one) => one.value === value)?.count }));
  return [
    { type: "choice", key: "tier", label: "Worth", options: worded(TIERS, WORTH, facets?.tiers) },
    { type: "choice", key: "kind", label: "Kind", options: worded(KINDS, KIND, facets?.kinds) },
    { type: "choice", key: "dataset", label: "Dataset", options: facets?.datasets ?? [] },
    { type: "choice", key: "tag", label: "Tag", options: facets?.tags ?? [], several: true },
    { type: "choice", key: "review", label: "Review", options: worded(REVIEWS, REVIEW, facets?.reviews) },
    { type: "choice", key: "status", label: "Status", options: worded(STATUSES, STATUS) },
    { type: "choice", key: "source", label: "Source", options: facets?.sources ?? [] },
    { type: "text", key: "metadata", label: "Metadata", hint: "release=2026.1", several: true },
    { type: "dates", key: "since", upTo: "until", label: "Made" },
  ];
}
