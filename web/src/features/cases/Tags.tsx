/** Tags as pills. A record shows a dozen and offers the rest; a line of a list shows the first and counts the others. */
import { useState } from "react";
import { visible } from "@/ui/visible";
import classes from "./cases.module.css";

const MOST = 12;

export function Tags({ tags }: { tags: readonly string[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? tags : tags.slice(0, MOST);
  return (
    <span className={classes.tags}>
      {shown.map((tag) => (
        <span key={tag} className={classes.tag}>
          {visible(tag)}
        </span>
      ))}
      {shown.length < tags.length && (
        <button type="button" className={classes.moreTags} onClick={() => setAll(true)}>
          and {tags.length - shown.length} more
        </button>
      )}
    </span>
  );
}

export function FirstTag({ tags }: { tags: readonly string[] }) {
  const [first, ...others] = tags;
  if (!first) return null;
  return (
    <span className={classes.firstTag} title={tags.join(", ")}>
      <span className={classes.tag}>{visible(first)}</span>
      {others.length > 0 && <span>+{others.length}</span>}
    </span>
  );
}
