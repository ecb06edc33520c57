/** Columns of a list that one can choose: traces and cases share how they are chosen, laid out and marked. */
import { Marked } from "./Marked";
import type { ListColumn } from "./RecordList";
import { visible } from "./visible";

/** A column: its width, and whether it is shown before anybody chooses. The question is always there. */
export type ColumnSpec<Entry> = {
  id: string;
  label: string;
  header?: string;
  width: string;
  usual?: boolean;
  always?: boolean;
  cell: (entry: Entry) => React.ReactNode;
};

type Columns<Entry extends object> = { columns: ListColumn<Entry>[]; template: string };

/** The columns one can choose. */
export function choosable<Entry extends object>(specs: readonly ColumnSpec<Entry>[]): { id: string; label: string }[] {
  return specs.filter(({ always }) => !always).map(({ id, label }) => ({ id, label }));
}

export function shownOf<Entry extends object>(
  specs: readonly ColumnSpec<Entry>[],
  chosen: readonly string[] | undefined,
) {
  return chosen ?? specs.filter(({ usual }) => usual).map(({ id }) => id);
}

export function columnsFrom<Entry extends object>(
  specs: readonly ColumnSpec<Entry>[],
  chosen: readonly string[] | undefined,
): Columns<Entry> {
  const shown = new Set(shownOf(specs, chosen));
  const listed = specs.filter(({ id, always }) => always || shown.has(id));
  return {
    columns: listed.map(({ id, label, header, cell }) => ({
      id,
      header: header ?? label,
      cell: ({ row }) => cell(row.original),
    })),
    template: listed.map(({ width }) => width).join(" "),
  };
}

export const dimmed = (text: string) => <span className="eg-dim eg-numeric">{visible(text)}</span>;

export const markedDim = (text: string, search: string | undefined) => (
  <span className="eg-dim">
    <Marked text={text} search={search} />
  </span>
);
