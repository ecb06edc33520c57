import { age } from "@/ui/format";
import type { ListColumn } from "@/ui/RecordList";
import { CaseTier } from "@/ui/Tier";
import type { Case } from "./data";
import { FirstTag } from "./Tags";

export const CASE_TEMPLATE = "112px minmax(0, 5fr) minmax(0, 4fr) 112px minmax(0, 150px) 76px";

export const CASE_COLUMNS: ListColumn<Case>[] = [
  {
    id: "tier",
    header: "Worth",
    cell: ({ row }) => <CaseTier entry={row.original} />,
  },
  { id: "main", header: "Input", cell: ({ row }) => row.original.name || firstLine(row.original.input) },
  {
    id: "second",
    header: "Expected, or else the answer",
    cell: ({ row }) => <span className="eg-dim">{wanted(row.original)}</span>,
  },
  { id: "dataset", header: "Dataset", cell: ({ row }) => row.original.dataset },
  { id: "tags", header: "Tags", cell: ({ row }) => <FirstTag tags={row.original.tags} /> },
  {
    id: "age",
    header: "Changed",
    cell: ({ row }) => (
      <span className="eg-dim eg-numeric">{age(row.original.updated_at ?? row.original.created_at)}</span>
    ),
  },
];

/** What a good answer is; of a case about context, the files one has to find. */
function wanted({ expected, output, paths }: Case): string {
  return firstLine(expected ?? output ?? paths.map(({ path }) => path).join(", "));
}

/** Enough of a text for one line; a megabyte of it would only slow the list down. */
function firstLine(text: string | null | undefined): string {
  return (text ?? "").slice(0, 300);
}
