import classes from "./cases.module.css";

export function Tags({ tags, oneLine = false }: { tags: readonly string[]; oneLine?: boolean }) {
  return (
    <span className={classes.tags} data-one-line={oneLine || undefined}>
      {tags.map((tag) => (
        <span key={tag} className={classes.tag}>
          {tag}
        </span>
      ))}
    </span>
  );
}
