/** The sources of an entry: a chip each, taken away by a click, and a list of the ones that can be added. */
import { CrossIcon } from "@/ui/icons";
import classes from "./entries.module.css";
import { type ListName, SOURCES } from "./rows";

type SourceChipsProps = { list: ListName; sources: string[]; label: string; onChange: (sources: string[]) => void };

export function SourceChips({ list, sources, label, onChange }: SourceChipsProps) {
  const open = SOURCES[list].filter((source) => !sources.includes(source));
  return (
    <span className={classes.sources}>
      {sources.map((source) => (
        <button
          key={source}
          type="button"
          className={classes.chip}
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
          className={classes.addSource}
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
