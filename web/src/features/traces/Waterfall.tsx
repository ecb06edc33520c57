/**
 * Where the time went: the tree of spans on the left, their bars on one time axis on the right. One opens to show its texts;
 * what is below a span folds away, and a search shows the way down to what it finds.
 */
import { Button, TextInput } from "@mantine/core";
import { useMemo, useState } from "react";
import { count, duration } from "@/ui/format";
import { ChevronIcon } from "@/ui/icons";
import { Facts, factsOf } from "@/ui/Page";
import { Empty } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { visible } from "@/ui/text";
import type { Span } from "./data";
import { billOf, type SpanRow, shownRows, spanTree, ticks } from "./spanTree";
import classes from "./Waterfall.module.css";

/** As many rows as a page draws at once; more come by a button. */
const STEP = 300;
const TOOLS_FROM = 8;
const DEEPEST = 14;

export function Waterfall({ spans }: { spans: readonly Span[] }) {
  const { rows, totalMs } = useMemo(() => spanTree(spans), [spans]);
  const [open, setOpen] = useState<string | null>(null);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [search, setSearch] = useState("");
  const [most, setMost] = useState(STEP);
  const shown = useMemo(() => shownRows(rows, folded, finder(search)), [rows, folded, search]);
  if (rows.length === 0) {
    return <Empty title="No spans">This trace was sent as one input and one output, without its steps.</Empty>;
  }
  function fold(id: string) {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setFolded(next);
  }
  return (
    <div className={classes.waterfall}>
      {rows.length >= TOOLS_FROM && (
        <Tools
          search={search}
          found={shown.length}
          onSearch={setSearch}
          onFold={() => setFolded(new Set(rows.filter((row) => row.children > 0).map((row) => row.span.id)))}
          onUnfold={() => setFolded(new Set())}
        />
      )}
      <div className={classes.axis} aria-hidden="true">
        {ticks(totalMs).map((tick) => (
          <span key={tick} style={{ left: `${totalMs ? (100 * tick) / totalMs : 0}%` }}>
            {tick === 0 ? "0" : duration(tick)}
          </span>
        ))}
      </div>
      <ol className={classes.rows}>
        {shown.slice(0, most).map((row) => (
          <li key={row.span.id}>
            <div className={classes.row}>
              <Fold row={row} folded={folded.has(row.span.id)} onFold={() => fold(row.span.id)} />
              <Line
                row={row}
                open={open === row.span.id}
                toggle={() => setOpen(open === row.span.id ? null : row.span.id)}
              />
            </div>
            {open === row.span.id && <Inside span={row.span} />}
          </li>
        ))}
      </ol>
      {shown.length > most && (
        <Button mt="sm" variant="default" onClick={() => setMost(most + STEP)}>
          Show {count(Math.min(STEP, shown.length - most))} more of {count(shown.length)} spans
        </Button>
      )}
    </div>
  );
}

/** Whether a span holds the words, in its name, kind, status or texts. */
function finder(search: string): ((row: SpanRow<Span>) => boolean) | null {
  const wanted = search.trim().toLowerCase();
  if (wanted === "") return null;
  return ({ span }) =>
    [span.name, span.kind, span.status, span.input, span.output].some((text) => text?.toLowerCase().includes(wanted));
}

type ToolsProps = {
  search: string;
  found: number;
  onSearch: (search: string) => void;
  onFold: () => void;
  onUnfold: () => void;
};

function Tools({ search, found, onSearch, onFold, onUnfold }: ToolsProps) {
  return (
    <div className={classes.tools}>
      <TextInput
        size="xs"
        aria-label="Search spans"
        placeholder="Search spans"
        dir="auto"
        value={search}
        onChange={(event) => onSearch(event.currentTarget.value)}
      />
      <Button size="compact-sm" variant="default" onClick={onFold}>
        Fold all
      </Button>
      <Button size="compact-sm" variant="default" onClick={onUnfold}>
        Unfold all
      </Button>
      <span role="status" className="eg-dim">
        {search.trim() !== "" && (found === 0 ? "No span holds this." : `${count(found)} with the way down to them`)}
      </span>
    </div>
  );
}

function Fold({ row, folded, onFold }: { row: SpanRow<Span>; folded: boolean; onFold: () => void }) {
  if (row.children === 0) return <span className={classes.leaf} />;
  const name = visible(row.span.name || row.span.id);
  return (
    <button
      type="button"
      className={classes.fold}
      aria-expanded={!folded}
      aria-label={folded ? `Unfold ${name}` : `Fold ${name}`}
      onClick={onFold}
    >
      {folded ? "+" : "−"}
    </button>
  );
}

function Line({ row, open, toggle }: { row: SpanRow<Span>; open: boolean; toggle: () => void }) {
  const { span, depth, bar, ms } = row;
  const bill = billOf(span.metadata);
  return (
    <button type="button" className={classes.line} onClick={toggle} aria-expanded={open}>
      <span className={classes.name} style={{ paddingInlineStart: Math.min(depth, DEEPEST) * 16 }}>
        <span className={classes.chevron} data-open={open || undefined}>
          <ChevronIcon size={14} />
        </span>
        <span className={classes.kind} data-kind={span.kind}>
          {visible(span.kind)}
        </span>
        <span className="eg-clip" dir="auto">
          {visible(span.name || span.id)}
        </span>
        {bill && <span className={classes.bill}>{bill}</span>}
      </span>
      <span className={classes.track}>
        {bar && (
          <span
            className={classes.bar}
            data-kind={span.kind}
            data-failed={span.status === "failed" || undefined}
            style={{ left: `${bar.offset * 100}%`, width: `max(2px, ${bar.width * 100}%)` }}
          />
        )}
      </span>
      <span className={classes.took}>{duration(ms)}</span>
    </button>
  );
}

function Inside({ span }: { span: Span }) {
  return (
    <div className={classes.inside}>
      <TextBlock label="Input" text={span.input} />
      <TextBlock label="Output" text={span.output} tone={span.status === "failed" ? "rust" : "plain"} />
      <Facts facts={[["Span", span.id], ["Status", span.status], ...factsOf(span.metadata)]} />
    </div>
  );
}
