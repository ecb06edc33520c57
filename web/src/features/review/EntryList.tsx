/**
 * The ranked list of paths or ranges: order by dragging the handle, or by Alt with the arrow keys; edit in place.
 * Plain inputs, because a case may have hundreds of entries and every one is drawn when a reviewer steps to it.
 */
import {
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import {
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
  verticalListSortingStrategy,
} from "@dnd-kit/sortable";
import { Button } from "@mantine/core";
import { type KeyboardEvent, useRef } from "react";
import { CrossIcon, GripIcon } from "@/ui/icons";
import { type Edit, type Entry, type ListName, type RangeEntry, SOURCES } from "./content";
import classes from "./desk.module.css";
import sheet from "./entries.module.css";

const WORDS: Record<ListName, { title: string; one: string; dataset: string }> = {
  filePaths: { title: "File paths", one: "path", dataset: "A" },
  lineRanges: { title: "Line ranges", one: "range", dataset: "B" },
};

type EntryListProps = {
  list: ListName;
  entries: Entry[] | null;
  onEdit: (edit: Edit) => void;
  onShow: (entry: Entry) => void;
};

export function EntryList({ list, entries, onEdit, onShow }: EntryListProps) {
  const words = WORDS[list];
  const box = useRef<HTMLOListElement>(null);
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const focusEntry = (index: number) =>
    requestAnimationFrame(() => box.current?.querySelectorAll<HTMLElement>("[data-path]")[index]?.focus());

  function move(from: number, to: number) {
    if (entries === null || to < 0 || to >= entries.length) return;
    onEdit({ type: "moveEntry", list, from, to });
    focusEntry(to);
  }

  function add() {
    const fresh = { path: "", sources: ["manual"] };
    const entry: Entry = list === "filePaths" ? fresh : { ...fresh, startLine: 1, endLine: 1 };
    onEdit({ type: "addEntry", list, entry });
    focusEntry(entries?.length ?? 0);
  }

  function dropped({ active, over }: DragEndEvent) {
    if (over && active.id !== over.id) {
      onEdit({ type: "moveEntry", list, from: Number(active.id) - 1, to: Number(over.id) - 1 });
    }
  }

  return (
    <section className={sheet.entries} aria-label={words.title}>
      <header>
        <h3>
          {words.title} <span className={classes.dim}>dataset {words.dataset}</span>
        </h3>
        {entries !== null && (
          <Button size="compact-xs" variant="default" onClick={add}>
            Add {words.one}
          </Button>
        )}
      </header>
      {entries === null ? (
        <p className={classes.dim}>
          No row of dataset {words.dataset} was imported for this case. Import that file, or{" "}
          <button type="button" className={classes.linkish} onClick={() => onEdit({ type: "createHalf", list })}>
            start an empty one
          </button>
          .
        </p>
      ) : (
        <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={dropped}>
          <SortableContext items={entries.map((_, index) => index + 1)} strategy={verticalListSortingStrategy}>
            <ol ref={box}>
              {entries.map((entry, index) => (
                <EntryRow
                  // biome-ignore lint/suspicious/noArrayIndexKey: an entry has no identity but its rank; typing must not remount it
                  key={index}
                  rank={index + 1}
                  entry={entry}
                  list={list}
                  onEdit={(patch) => onEdit({ type: "editEntry", list, index, patch })}
                  onRemove={() => onEdit({ type: "removeEntry", list, index })}
                  onMove={(step) => move(index, index + step)}
                  onShow={onShow}
                />
              ))}
            </ol>
          </SortableContext>
          {entries.length === 0 && <p className={classes.dim}>None.</p>}
        </DndContext>
      )}
    </section>
  );
}

type EntryRowProps = {
  rank: number;
  entry: Entry;
  list: ListName;
  onEdit: (patch: Partial<Entry>) => void;
  onRemove: () => void;
  onMove: (step: 1 | -1) => void;
  onShow: (entry: Entry) => void;
};

function EntryRow({ rank, entry, list, onEdit, onRemove, onMove, onShow }: EntryRowProps) {
  const { attributes, listeners, setNodeRef, transform, transition, isDragging } = useSortable({ id: rank });
  const label = `${WORDS[list].one} ${rank}`;
  function onKeyDown(event: KeyboardEvent) {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    event.stopPropagation();
    onMove(event.key === "ArrowUp" ? -1 : 1);
  }
  return (
    <li
      ref={setNodeRef}
      className={sheet.entry}
      data-dragging={isDragging || undefined}
      style={{ transform: transform ? `translate3d(0, ${Math.round(transform.y)}px, 0)` : undefined, transition }}
      onKeyDownCapture={onKeyDown}
    >
      <button type="button" className={sheet.grip} aria-label={`Move ${label}`} {...attributes} {...listeners}>
        <GripIcon />
      </button>
      <span className={sheet.rank}>{rank}</span>
      <input
        data-path
        className={sheet.path}
        aria-label={`Path of ${label}`}
        value={entry.path}
        spellCheck={false}
        onChange={(event) => onEdit({ path: event.currentTarget.value })}
        onFocus={() => onShow(entry)}
      />
      {list === "lineRanges" && <Lines range={entry as RangeEntry} label={label} onEdit={onEdit} />}
      <SourceChips list={list} sources={entry.sources} label={label} onChange={(sources) => onEdit({ sources })} />
      <button type="button" className={sheet.remove} aria-label={`Remove ${label}`} onClick={onRemove}>
        <CrossIcon size={14} />
      </button>
    </li>
  );
}

function Lines({
  range,
  label,
  onEdit,
}: {
  range: RangeEntry;
  label: string;
  onEdit: (patch: Partial<RangeEntry>) => void;
}) {
  const number = (text: string) => (text === "" ? 0 : Number.parseInt(text, 10) || 0);
  return (
    <span className={sheet.lines}>
      <input
        type="number"
        min={1}
        aria-label={`First line of ${label}`}
        value={range.startLine || ""}
        onChange={(event) => onEdit({ startLine: number(event.currentTarget.value) })}
      />
      –
      <input
        type="number"
        min={1}
        aria-label={`Last line of ${label}`}
        value={range.endLine || ""}
        onChange={(event) => onEdit({ endLine: number(event.currentTarget.value) })}
      />
    </span>
  );
}

type SourceChipsProps = { list: ListName; sources: string[]; label: string; onChange: (sources: string[]) => void };

/** The sources of an entry: a chip each, taken away by a click, and a list of the ones that can be added. */
function SourceChips({ list, sources, label, onChange }: SourceChipsProps) {
  const open = SOURCES[list].filter((source) => !sources.includes(source));
  return (
    <span className={sheet.sources}>
      {sources.map((source) => (
        <button
          key={source}
          type="button"
          className={sheet.chip}
          data-golden={source === "review_merge_diff" || source === "golden_diff" || undefined}
          aria-label={`Remove source ${source} from ${label}`}
          onClick={() => onChange(sources.filter((other) => other !== source))}
        >
          {source}
          <CrossIcon size={12} />
        </button>
      ))}
      {open.length > 0 && (
        <select
          className={sheet.addSource}
          aria-label={`Add a source to ${label}`}
          value=""
          onChange={(event) => onChange([...sources, event.currentTarget.value])}
        >
          <option value="" disabled>
            + source
          </option>
          {open.map((source) => (
            <option key={source}>{source}</option>
          ))}
        </select>
      )}
    </span>
  );
}
