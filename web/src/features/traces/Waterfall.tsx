/** Where the time went: the tree of spans on the left, their bars on one time axis on the right. One opens to show its texts. */
import { useMemo, useState } from "react";
import { Facts, factsOf } from "@/ui/Facts";
import { duration } from "@/ui/format";
import { ChevronIcon } from "@/ui/icons";
import { Empty } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import type { Span } from "./data";
import { type SpanRow, spanTree, ticks } from "./spanTree";
import classes from "./Waterfall.module.css";

export function Waterfall({ spans }: { spans: readonly Span[] }) {
  const { rows, totalMs } = useMemo(() => spanTree(spans), [spans]);
  const [open, setOpen] = useState<string | null>(null);
  if (rows.length === 0) {
    return <Empty title="No spans">This trace was sent as one input and one output, without its steps.</Empty>;
  }
  return (
    <div className={classes.waterfall}>
      <div className={classes.axis} aria-hidden="true">
        {ticks(totalMs).map((tick) => (
          <span key={tick} style={{ left: `${totalMs ? (100 * tick) / totalMs : 0}%` }}>
            {tick === 0 ? "0" : duration(tick)}
          </span>
        ))}
      </div>
      <ol className={classes.rows}>
        {rows.map((row) => (
          <li key={row.span.id}>
            <Line
              row={row}
              open={open === row.span.id}
              toggle={() => setOpen(open === row.span.id ? null : row.span.id)}
            />
            {open === row.span.id && <Inside span={row.span} />}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Line({ row, open, toggle }: { row: SpanRow<Span>; open: boolean; toggle: () => void }) {
  const { span, depth, bar, ms } = row;
  return (
    <button type="button" className={classes.line} onClick={toggle} aria-expanded={open}>
      <span className={classes.name} style={{ paddingLeft: depth * 16 }}>
        <span className={classes.chevron} data-open={open || undefined}>
          <ChevronIcon size={14} />
        </span>
        <span className={classes.kind} data-kind={span.kind}>
          {span.kind}
        </span>
        <span className="eg-clip">{span.name || span.id}</span>
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
