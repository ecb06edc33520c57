/** The frame of one record beside its list: a way back, a title, small facts, then sections. */
import { Title } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { CrossIcon } from "./icons";
import classes from "./Record.module.css";
import { useShortcuts } from "./shortcuts";
import { visible } from "./visible";

/** A title is a line or two; the whole text stands below it. */
const TITLE_MOST = 300;

type RecordProps = { title: ReactNode; badge?: ReactNode; meta?: ReactNode; close: () => void; children: ReactNode };

export function RecordFrame({ title, badge, meta, close, children }: RecordProps) {
  useShortcuts("Open record", [{ keys: "Escape", does: "Back to the list", run: close }]);
  const heading = useRef<HTMLHeadingElement>(null);
  const named = typeof title === "string" ? title : "";
  // A reader of the page by ear or key begins where the record begins; typing goes on where it was.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another title is another record
  useEffect(() => {
    if (!/^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? ""))
      heading.current?.focus({ preventScroll: true });
  }, [named]);
  return (
    <article className={classes.record}>
      <header className={classes.head}>
        <div className={classes.top}>
          {badge}
          <button type="button" className={classes.close} onClick={close} aria-label="Close and go back to the list">
            <CrossIcon />
          </button>
        </div>
        <Title order={2} className={classes.title} ref={heading} tabIndex={-1} dir="auto">
          {typeof title === "string" ? visible(title.slice(0, TITLE_MOST)) : title}
        </Title>
        {meta && <div className={classes.meta}>{meta}</div>}
      </header>
      {children}
    </article>
  );
}

export function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className={classes.section}>
      <div className={classes.sectionHead}>
        <h3>{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  );
}
