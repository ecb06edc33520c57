/** The frame of a page: title, one line that says what it is for, actions on the right. */
import { Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import classes from "./Page.module.css";

type PageProps = { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode };

export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Evergold`;
  }, [title]);
  return (
    <div className={classes.page}>
      <header className={classes.head}>
        <div className={classes.words}>
          <Title order={1}>{title}</Title>
          {lead && <div className={classes.lead}>{lead}</div>}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A bordered surface with an optional small heading. */
export function Panel({ title, aside, children, flush = false }: PanelProps) {
  return (
    <section className={classes.panel}>
      {title && (
        <div className={classes.panelHead}>
          <h2 className={classes.panelTitle}>{title}</h2>
          {aside && <div className={classes.aside}>{aside}</div>}
        </div>
      )}
      <div className={flush ? undefined : classes.panelBody}>{children}</div>
    </section>
  );
}

type PanelProps = { title?: ReactNode; aside?: ReactNode; children: ReactNode; flush?: boolean };
