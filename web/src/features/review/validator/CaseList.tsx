/** The sidebar: search, filter, counts, and a list that draws only the rows in view. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type RefObject, useEffect, useRef } from "react";
import classes from "./list.module.css";
import { type Counts, type Filter, type StatusFilter, statusOf } from "./navigation";
import { StatusMark } from "./StatusMark";
import type { CaseState, Session } from "./session";

const ROW_PX = 54;
const FILTERS: StatusFilter[] = ["all", "incomplete", "ready", "validated", "edited", "half pair"];

type CaseListProps = {
  session: Session;
  keys: string[];
  counts: Counts;
  filter: Filter;
  searchRef: RefObject<HTMLInputElement | null>;
  onFilter: (filter: Filter) => void;
  onSelect: (key: string) => void;
};

export function CaseList({ session, keys, counts, filter, searchRef, onFilter, onSelect }: CaseListProps) {
  return (
    <nav className={classes.sidebar} aria-label="Cases">
      <div className={classes.filters}>
        <TextInput
          ref={searchRef}
          aria-label="Search cases"
          placeholder="Search id, query, path"
          size="xs"
          value={filter.text}
          onChange={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
        />
        <NativeSelect
          aria-label="Show"
          size="xs"
          data={FILTERS}
          value={filter.status}
          onChange={(event) => onFilter({ ...filter, status: event.currentTarget.value as StatusFilter })}
        />
      </div>
      <p className={classes.counts} role="status">
        <b>{counts.validated}</b> of {counts.total} validated · {counts.incomplete} incomplete
        {keys.length !== counts.total && ` · ${keys.length} shown`}
      </p>
      <Rows session={session} keys={keys} onSelect={onSelect} />
    </nav>
  );
}

function Rows({ session, keys, onSelect }: Pick<CaseListProps, "session" | "keys" | "onSelect">) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: keys.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
  });
  const at = session.current === null ? -1 : keys.indexOf(session.current);
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at);
  }, [at, rows]);
  return (
    <div ref={scroller} className={classes.rows}>
      <ul style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((item) => {
          const key = keys[item.index] as string;
          return (
            <li key={key} style={{ transform: `translateY(${item.start}px)` }}>
              <Row state={session.cases[key] as CaseState} here={key === session.current} onSelect={onSelect} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

const Row = memo(function Row({
  state,
  here,
  onSelect,
}: {
  state: CaseState;
  here: boolean;
  onSelect: (key: string) => void;
}) {
  const { identity, query, filePaths, lineRanges } = state.content;
  const half = filePaths === null ? "A missing" : lineRanges === null ? "B missing" : null;
  return (
    <button
      type="button"
      className={classes.row}
      aria-current={here ? "true" : undefined}
      onClick={() => onSelect(identity.caseId)}
    >
      <StatusMark status={statusOf(state)} />
      <span className={classes.rowText}>
        <span className="eg-clip">{query || "No query yet"}</span>
        <span className={`${classes.rowId} eg-clip`}>
          {identity.caseId}
          {half && ` · ${half}`}
        </span>
      </span>
    </button>
  );
});
