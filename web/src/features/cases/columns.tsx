import { age } from "@/ui/format";
import { Marked } from "@/ui/Marked";
import type { ListColumn } from "@/ui/RecordList";
import { CaseTier } from "@/ui/Tier";
import type { Case } from "./data";
import { oneOf, type RepeatedQuestion } from "./repeats";
import { FirstTag } from "./Tags";
import type { CaseView } from "./view";

const WIDTHS: Record<string, string> = {
  tier: "112px",
  main: "minmax(0, 5fr)",
  second: "minmax(0, 4fr)",
  kind: "80px",
  dataset: "112px",
  review: "100px",
  tags: "minmax(0, 150px)",
  age: "76px",
};
const DEFAULT = ["tier", "second", "dataset", "tags", "age"];

/** The columns one can choose; the question is always there. */
export const CHOOSABLE = [
  { id: "tier", label: "Worth" },
  { id: "second", label: "Expected answer" },
  { id: "kind", label: "Kind" },
  { id: "dataset", label: "Dataset" },
  { id: "review", label: "Review" },
  { id: "tags", label: "Tags" },
  { id: "age", label: "Changed" },
] as const;

export function shownColumns(view: CaseView): readonly string[] {
  return view.columns ?? DEFAULT;
}

export function columnsOf(
  view: CaseView,
  repeats: ReadonlyMap<string, RepeatedQuestion>,
): { columns: ListColumn<Case>[]; template: string } {
  const shown = new Set(["main", ...shownColumns(view)]);
  const columns = allColumns(view.q, repeats).filter((column) => shown.has(column.id ?? ""));
  return { columns, template: columns.map((column) => WIDTHS[column.id ?? ""]).join(" ") };
}

function allColumns(search: string | undefined, repeats: ReadonlyMap<string, RepeatedQuestion>): ListColumn<Case>[] {
  return [
    { id: "tier", header: "Worth", cell: ({ row }) => <CaseTier entry={row.original} /> },
    {
      id: "main",
      header: "Input",
      cell: ({ row: { original } }) => {
        const repeated = repeats.get(`${original.dataset}/${original.id}`);
        return (
          <>
            <Marked text={original.name || original.input} search={search} />
            {repeated && <span className="eg-dim"> · {oneOf(repeated)}</span>}
          </>
        );
      },
    },
    {
      id: "second",
      header: "Expected, or else the answer",
      cell: ({ row }) => (
        <span className="eg-dim">
          <Marked text={wanted(row.original)} search={search} />
        </span>
      ),
    },
    { id: "kind", header: "Kind", cell: ({ row }) => row.original.kind },
    { id: "dataset", header: "Dataset", cell: ({ row }) => row.original.dataset },
    { id: "review", header: "Review", cell: ({ row }) => row.original.review },
    { id: "tags", header: "Tags", cell: ({ row }) => <FirstTag tags={row.original.tags} /> },
    {
      id: "age",
      header: "Changed",
      cell: ({ row }) => (
        <span className="eg-dim eg-numeric">{age(row.original.updated_at ?? row.original.created_at)}</span>
      ),
    },
  ];
}

/** What a good answer is; of a case about context, the files one has to find. */
function wanted({ approved, expected, output, paths }: Case): string {
  return approved?.text ?? expected ?? output ?? paths.map(({ path }) => path).join(", ");
}
