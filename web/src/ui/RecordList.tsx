/**
 * A list of any length: only the rows in view exist, and the next page is asked for when its end comes near.
 *
 * Rows are links, so they open in a tab of their own; j and k walk through them, Enter opens, x chooses. A row is one stop
 * of the Tab key: its checkbox is for the mouse. How columns fold on a narrow screen is the stylesheet's business: every cell
 * carries its column's id as `data-column`.
 */
import { Button } from "@mantine/core";
import { type ColumnDef, type RowData, tableFeatures, useTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import classes from "./RecordList.module.css";
import { useShortcuts } from "./shortcuts";
import { Marked, visible } from "./text";

const listFeatures = tableFeatures({});
type ListColumn<Row extends RowData> = ColumnDef<typeof listFeatures, Row>;

type RecordListProps<Row extends RowData> = {
  label: string;
  rows: Row[];
  columns: ListColumn<Row>[];
  template: string;
  rowKey: (row: Row) => string;
  selected?: string | null;
  open: (row: Row) => void;
  href: (row: Row) => string;
  more: boolean;
  loadMore: () => void;
  loadingMore: boolean;
  end?: ReactNode;
  /** The rows chosen for an action on many; without it rows cannot be chosen. */
  marked?: ReadonlySet<string>;
  onMark?: (next: ReadonlySet<string>) => void;
};

const ROW_HEIGHT = { comfortable: 45, compact: 31 };

type Density = keyof typeof ROW_HEIGHT;
const DENSITY = "evergold.density";
const watchers = new Set<() => void>();

/** How close the rows of lists stand, in this browser. */
function useDensity(): Density {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => (localStorage.getItem(DENSITY) === "compact" ? "compact" : "comfortable"),
  );
}

export function DensitySwitch() {
  const compact = useDensity() === "compact";
  return (
    <Button
      variant="default"
      aria-pressed={compact}
      onClick={() => {
        localStorage.setItem(DENSITY, compact ? "comfortable" : "compact");
        for (const watcher of watchers) watcher();
      }}
    >
      {compact ? "Comfortable" : "Compact"}
    </Button>
  );
}

export function RecordList<Row extends RowData>(props: RecordListProps<Row>) {
  const { rows, columns, rowKey, more, loadMore, loadingMore, selected, open, href } = props;
  const table = useTable({ features: listFeatures, columns, data: rows, getRowId: rowKey });
  const scroller = useRef<HTMLDivElement>(null);
  const density = useDensity();
  // A row keeps its measured height when a filter moves it to another place in the list.
  const itemKey = useCallback((index: number) => rowKey(rows[index] as Row), [rows, rowKey]);
  const virtual = useVirtualizer({
    count: rows.length,
    getItemKey: itemKey,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT[density],
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another density is another height of every row
  useEffect(() => virtual.measure(), [density, virtual]);
  const items = virtual.getVirtualItems();
  const last = items[items.length - 1]?.index ?? -1;
  useEffect(() => {
    if (more && !loadingMore && last >= rows.length - 15) loadMore();
  }, [more, loadingMore, last, rows.length, loadMore]);

  const [cursor, setCursor] = useCursor(rows, rowKey, selected);
  const landed = useRef(false);
  useEffect(() => {
    if (landed.current || cursor < 0) return;
    landed.current = true;
    virtual.scrollToIndex(cursor, { align: "auto" });
  }, [cursor, virtual]);

  function focusRow(index: number) {
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"] a`)?.focus({ preventScroll: true });
    });
  }
  // Who closes a record goes on in the list where it was.
  const before = useRef(selected);
  useEffect(() => {
    const closed = before.current && !selected ? rows.findIndex((row) => rowKey(row) === before.current) : -1;
    before.current = selected;
    if (closed < 0) return;
    setCursor(closed);
    focusRow(closed);
  });

  function move(step: number) {
    const next = Math.min(Math.max(cursor + step, 0), rows.length - 1);
    const row = rows[next];
    if (!row) return;
    setCursor(next);
    virtual.scrollToIndex(next);
    if (selected) open(row);
    else focusRow(next);
  }
  const { marked, onMark } = props;
  function mark(key: string) {
    const next = new Set(marked);
    if (!next.delete(key)) next.add(key);
    onMark?.(next);
  }
  const marking = onMark
    ? [
        {
          keys: "x",
          does: "Choose, or choose no more",
          run: () => {
            const row = rows[cursor];
            if (row) mark(rowKey(row));
          },
        },
        { keys: "a", does: "Choose all that are loaded", run: () => onMark(new Set(rows.map(rowKey))) },
      ]
    : [];
  useShortcuts(props.label, [
    ...marking,
    { keys: "j", does: "Next", run: () => move(1) },
    { keys: "k", does: "Previous", run: () => move(-1) },
    {
      keys: "Enter",
      does: "Open",
      run: () => {
        const row = rows[cursor];
        if (row) open(row);
      },
    },
  ]);

  const template = { "--template": props.template } as CSSProperties;
  const tableRows = table.getRowModel().rows;
  return (
    <div className={classes.frame} data-choosing={onMark ? true : undefined} data-density={density}>
      <div className={classes.header} style={template} aria-hidden="true">
        {table.getHeaderGroups()[0]?.headers.map((header) => (
          <span key={header.id} data-column={header.column.id}>
            <table.FlexRender header={header} />
          </span>
        ))}
      </div>
      <div ref={scroller} className={classes.scroll}>
        <ul className={classes.list} style={{ height: virtual.getTotalSize() }} aria-label={props.label}>
          {items.map((item) => {
            const row = tableRows[item.index];
            if (!row) return null;
            return (
              <li
                key={row.id}
                ref={virtual.measureElement}
                data-index={item.index}
                className={classes.item}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {onMark && (
                  <label className={classes.choose}>
                    <input
                      type="checkbox"
                      tabIndex={-1}
                      aria-keyshortcuts="x"
                      aria-label={`Choose row ${item.index + 1}`}
                      checked={marked?.has(row.id) ?? false}
                      onChange={() => mark(row.id)}
                    />
                  </label>
                )}
                <a
                  className={classes.row}
                  style={template}
                  href={href(row.original)}
                  aria-current={selected === row.id ? "true" : undefined}
                  data-cursor={cursor === item.index || undefined}
                  onFocus={() => setCursor(item.index)}
                  onClick={(event) => {
                    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                    event.preventDefault();
                    setCursor(item.index);
                    open(row.original);
                  }}
                >
                  {row.getAllCells().map((cell) => (
                    <span key={cell.id} className={classes.cell} data-column={cell.column.id} dir="auto">
                      <table.FlexRender cell={cell} />
                    </span>
                  ))}
                </a>
              </li>
            );
          })}
        </ul>
        <div className={classes.end}>{loadingMore ? "Loading more…" : more ? "" : props.end}</div>
      </div>
    </div>
  );
}

/** Where j and k stand: the selected row, or where they were moved to. */
function useCursor<Row>(rows: Row[], rowKey: (row: Row) => string, selected: string | null | undefined) {
  const [cursor, setCursor] = useState(-1);
  const at = selected ? rows.findIndex((row) => rowKey(row) === selected) : -1;
  return [at >= 0 ? at : Math.min(cursor, rows.length - 1), setCursor] as const;
}

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

/** How much of a text a cell shows on any screen that has columns. */
export const CELL_CHARACTERS = 40;

export const markedDim = (text: string, search: string | undefined) => (
  <span className="eg-dim">
    <Marked text={text} search={search} seen={CELL_CHARACTERS} />
  </span>
);
