/**
 * The desk of a reviewer: a list of cases, the case, its evidence. It is the same whether the cases are in the workspace
 * (the queue) or in files (the validator). On a phone the three are tabs.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";
import { visible } from "@/ui/text";
import classes from "./desk.module.css";

export type DeskTab = "list" | "case" | "evidence";

const TABS: [DeskTab, string][] = [
  ["list", "Cases"],
  ["case", "Case"],
  ["evidence", "Evidence"],
];

type DeskProps = {
  /** The name of the list, which is a landmark of the page. */
  name: string;
  list: ReactNode;
  /** What a phone shows; "both" is the list with what stands beside it. */
  tab: DeskTab | "both";
  /** Absent while no case is open: there is nothing to turn to. */
  onTab: ((tab: DeskTab) => void) | undefined;
  /** The case and its evidence, or what is shown instead of both. */
  children: ReactNode;
};

export function Desk({ name, list, tab, onTab, children }: DeskProps) {
  return (
    <>
      {onTab && (
        <div className={classes.tabs}>
          {TABS.map(([each, label]) => (
            <button key={each} type="button" aria-pressed={tab === each} onClick={() => onTab(each)}>
              {label}
            </button>
          ))}
        </div>
      )}
      <div className={classes.columns} data-tab={tab}>
        <nav className={classes.sidebar} aria-label={name}>
          {list}
        </nav>
        {children}
      </div>
    </>
  );
}

type CaseListProps<Row> = {
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  current: string | null;
  children: (row: Row) => ReactNode;
  /** Called while the end of the list is near. */
  onEnd?: () => void;
};

const ROW_PX = 56;
const NEAR = 20;

/** A list of which only the rows in view are drawn; the current one is scrolled to. */
export function CaseList<Row>({ rows, keyOf, current, children, onEnd }: CaseListProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const drawer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
  });
  const drawn = drawer.getVirtualItems();
  const last = drawn.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - NEAR) onEnd?.();
  }, [rows.length, last, onEnd]);
  const at = current === null ? -1 : rows.findIndex((row) => keyOf(row) === current);
  useEffect(() => {
    if (at >= 0) drawer.scrollToIndex(at);
  }, [at, drawer]);
  return (
    <div ref={scroller} className={classes.rows}>
      <ul style={{ height: drawer.getTotalSize() }}>
        {drawn.map(({ index, start }) => (
          <li key={keyOf(rows[index] as Row)} style={{ transform: `translateY(${start}px)` }}>
            {children(rows[index] as Row)}
          </li>
        ))}
      </ul>
    </div>
  );
}

type RowProps = { mark: ReactNode; title: string; facts: string; here: boolean; onSelect: () => void };

/** A row of the list: its state, what is asked, small facts. */
export function CaseRow({ mark, title, facts, here, onSelect }: RowProps) {
  return (
    <button type="button" className={classes.row} aria-current={here ? "true" : undefined} onClick={onSelect}>
      {mark}
      <span className={classes.rowText}>
        <span className="eg-clip" dir="auto">
          {visible(title)}
        </span>
        <span className={`${classes.dim} eg-clip`}>{visible(facts)}</span>
      </span>
    </button>
  );
}

const MARKS = {
  validated: { sign: "✓", words: "validated" },
  ready: { sign: "○", words: "complete, not validated" },
  incomplete: { sign: "!", words: "incomplete" },
  waiting: { sign: "○", words: "waiting" },
  dismissed: { sign: "–", words: "dismissed" },
  disputed: { sign: "≠", words: "disputed" },
  second_opinion: { sign: "?", words: "second opinion wanted" },
};

/** The mark of a case's state: a shape as well as a colour, so that it reads without colour. */
export function StateMark({ state }: { state: keyof typeof MARKS }) {
  const { sign, words } = MARKS[state];
  return (
    <span className={classes.mark} data-state={state}>
      <span aria-hidden="true">{sign}</span>
      <span className="eg-visually-hidden">{words}</span>
    </span>
  );
}

type CasePaneProps = { title: ReactNode; facts: ReactNode; verdicts: ReactNode; children: ReactNode };

/** The case in the middle of the desk: its fields scroll, its verdicts stay in view. */
export function CasePane({ title, facts, verdicts, children }: CasePaneProps) {
  return (
    <section className={classes.pane} aria-label="Case">
      <div className={classes.fields}>
        <header className={classes.heading}>
          <h2>{title}</h2>
          <p className={classes.dim}>{facts}</p>
        </header>
        {children}
      </div>
      <footer className={classes.verdicts}>{verdicts}</footer>
    </section>
  );
}

/** Escape leaves a field, so that the single-letter keys work again. */
export function useEscapeFromFields(): void {
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      if (event.key === "Escape" && isField(event.target)) event.target.blur();
    }
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

export function isField(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
