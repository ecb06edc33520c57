/** Frames: a page, a panel on it, a list with one record beside it, a record with its sections and facts. */
import { Title } from "@mantine/core";
import { Fragment, type ReactNode, useEffect, useRef } from "react";
import { CrossIcon } from "./icons";
import classes from "./Page.module.css";
import { useShortcuts } from "./shortcuts";
import { visible } from "./text";

type PageProps = { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode };

/** Title, one line that says what the page is for, actions on the right. */
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

type SplitProps = { title: string; lead?: ReactNode; filters: ReactNode; list: ReactNode; record: ReactNode | null };

/** A list that fills the window, and one record beside it; on a narrow screen the record takes the list's place. */
export function Split({ title, lead, filters, list, record }: SplitProps) {
  const open = record !== null;
  useEffect(() => {
    if (!open) document.title = `${title} · Evergold`;
  }, [title, open]);
  return (
    <div className={classes.split} data-open={record ? true : undefined}>
      <div className={classes.side}>
        <header className={classes.splitHead}>
          <Title order={1}>{title}</Title>
          {lead && <div className={classes.splitLead}>{lead}</div>}
        </header>
        <div className={classes.filters}>{filters}</div>
        {list}
      </div>
      {record && <h1 className={`${classes.alone} eg-visually-hidden`}>{title}</h1>}
      {record && <div className={classes.record}>{record}</div>}
    </div>
  );
}

/** A title is a line or two; the whole text stands below it. */
const TITLE_MOST = 300;

/** A tab of the browser shows fewer. */
const TAB_MOST = 60;

type RecordProps = {
  title: ReactNode;
  badge?: ReactNode;
  meta?: ReactNode;
  /** Buttons on the record, which stay in view with its title. */
  actions?: ReactNode;
  /** Buttons that lead elsewhere, beside the one that closes. */
  tools?: ReactNode;
  close: () => void;
  children: ReactNode;
};

/** The frame of one record beside its list: a way back, a title, small facts, then sections. */
export function RecordFrame({ title, badge, meta, actions, tools, close, children }: RecordProps) {
  useShortcuts("Open record", [{ keys: "Escape", does: "Back to the list", run: close }]);
  const heading = useRef<HTMLHeadingElement>(null);
  const named = typeof title === "string" ? title : "";
  // A reader of the page by ear or key begins where the record begins; typing goes on where it was.
  useEffect(() => {
    if (!/^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? ""))
      heading.current?.focus({ preventScroll: true });
    if (named) document.title = `${named.slice(0, TAB_MOST)} · Evergold`;
  }, [named]);
  return (
    <article className={classes.recordFrame}>
      <header className={classes.recordHead} data-stays={actions ? true : undefined}>
        <div className={classes.top}>
          {badge}
          <span className={classes.tools}>{tools}</span>
          <button type="button" className={classes.close} onClick={close} aria-label="Close and go back to the list">
            <CrossIcon />
          </button>
        </div>
        <Title order={2} className={classes.title} ref={heading} tabIndex={-1} dir="auto">
          {typeof title === "string" ? visible(title.slice(0, TITLE_MOST)) : title}
        </Title>
        {meta && <div className={classes.meta}>{meta}</div>}
        {actions}
      </header>
      {children}
    </article>
  );
}

/** A small button of a record's head. */
export const HEAD_BUTTON = classes.close;

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

/** A word of the app with a way to the line of the glossary that says what it means. */
export function Word({ is, children }: { is: string; children: ReactNode }) {
  return (
    <a
      className={classes.word}
      href={`/docs/glossary.html#${is.replaceAll(" ", "-")}`}
      target="_blank"
      rel="noreferrer"
      title={`What “${is}” means`}
    >
      {children}
    </a>
  );
}

/** Names of facts that the glossary explains. */
const EXPLAINED: Record<string, string> = {
  Dataset: "dataset",
  Judge: "judge",
  Metrics: "metric",
  Policy: "policy",
  "Rests on": "evidence",
  "The judge": "judge",
};

/** Small facts about one thing: a name on the left, a value on the right. Empty values are left out. */
type Fact = readonly [name: string, value: ReactNode];

export function Facts({ facts }: { facts: readonly Fact[] }) {
  const present = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (present.length === 0) return null;
  return (
    <dl className={classes.facts}>
      {present.map(([name, value]) => (
        <Fragment key={name}>
          <dt dir="auto">{EXPLAINED[name] ? <Word is={EXPLAINED[name]}>{name}</Word> : visible(name)}</dt>
          <dd dir="auto">{typeof value === "string" ? visible(value) : value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** Any JSON object as facts; nested values are shown as JSON. */
export function factsOf(object: Record<string, unknown> | null | undefined): Fact[] {
  return Object.entries(object ?? {}).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
}
