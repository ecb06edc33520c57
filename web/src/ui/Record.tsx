/** The frame of one record beside its list: a way back, a title, small facts, then sections. */
import { Title } from "@mantine/core";
import type { ReactNode } from "react";
import { CrossIcon } from "./icons";
import classes from "./Record.module.css";
import { useShortcuts } from "./shortcuts";

type RecordProps = { title: ReactNode; badge?: ReactNode; meta?: ReactNode; close: () => void; children: ReactNode };

export function RecordFrame({ title, badge, meta, close, children }: RecordProps) {
  useShortcuts("Open record", [{ keys: "Escape", does: "Back to the list", run: close }]);
  return (
    <article className={classes.record}>
      <header className={classes.head}>
        <div className={classes.top}>
          {badge}
          <button type="button" className={classes.close} onClick={close} aria-label="Close and go back to the list">
            <CrossIcon />
          </button>
        </div>
        <Title order={2} className={classes.title}>
          {title}
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
