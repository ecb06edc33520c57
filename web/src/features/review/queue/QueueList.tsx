/**
 * The queue as a list: only the rows in view are drawn, further pages come as one scrolls. A row is one stop of the Tab key:
 * its checkbox is for the mouse, and x chooses the open case.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { visible } from "@/ui/text";
import type { Key, QueueItem } from "./data";
import classes from "./list.module.css";

const ROW_PX = 58;

type QueueListProps = {
  items: QueueItem[];
  total: number;
  current: Key | null;
  chosen: ReadonlySet<string>;
  onSelect: (item: QueueItem) => void;
  onChoose: (item: QueueItem) => void;
  onMore: () => void;
};

export const nameOf = ({ dataset, id }: Key) => `${dataset}\u0000${id}`;

export function QueueList({ items, total, current, chosen, onSelect, onChoose, onMore }: QueueListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
  });
  const drawn = rows.getVirtualItems();
  const last = drawn.at(-1)?.index ?? 0;
  useEffect(() => {
    if (items.length < total && last >= items.length - 20) onMore();
  }, [items.length, total, last, onMore]);
  const at =
    current === null ? -1 : items.findIndex((item) => item.id === current.id && item.dataset === current.dataset);
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at);
  }, [at, rows]);
  return (
    <div ref={scroller} className={classes.rows}>
      <ul style={{ height: rows.getTotalSize() }}>
        {drawn.map((row) => {
          const item = items[row.index] as QueueItem;
          return (
            <li key={nameOf(item)} style={{ transform: `translateY(${row.start}px)` }}>
              <input
                type="checkbox"
                tabIndex={-1}
                aria-keyshortcuts="x"
                aria-label={`Choose ${item.id}`}
                checked={chosen.has(nameOf(item))}
                onChange={() => onChoose(item)}
              />
              <button
                type="button"
                className={classes.row}
                aria-current={row.index === at ? "true" : undefined}
                onClick={() => onSelect(item)}
              >
                <span className="eg-clip" dir="auto">
                  {visible(item.title || "no input")}
                </span>
                <span className={`${classes.source} eg-clip`}>
                  <Mark item={item} /> {item.kind} · {item.entry_type} · {item.id}
                  {item.held_by.length > 0 && ` · with ${item.held_by.join(", ")}`}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Mark({ item }: { item: QueueItem }) {
  const [sign, words] =
    item.review === "validated"
      ? ["✓", "validated"]
      : item.status === "dismissed"
        ? ["–", "dismissed"]
        : item.standing === "disputed"
          ? ["≠", "disputed"]
          : item.standing === "second_opinion"
            ? ["?", "second opinion wanted"]
            : ["○", "waiting"];
  return (
    <>
      <b aria-hidden="true">{sign}</b>
      <span className="eg-visually-hidden">{words}</span>
    </>
  );
}
