/** A list that fills the window, and one record beside it; on a narrow screen the record takes the list's place. */
import { Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import classes from "./Split.module.css";

type SplitProps = { title: string; lead?: ReactNode; filters: ReactNode; list: ReactNode; record: ReactNode | null };

export function Split({ title, lead, filters, list, record }: SplitProps) {
  useEffect(() => {
    document.title = `${title} · Evergold`;
  }, [title]);
  return (
    <div className={classes.split} data-open={record ? true : undefined}>
      <div className={classes.side}>
        <header className={classes.head}>
          <Title order={1}>{title}</Title>
          {lead && <div className={classes.lead}>{lead}</div>}
        </header>
        <div className={classes.filters}>{filters}</div>
        {list}
      </div>
      {record && <h1 className={`${classes.alone} eg-visually-hidden`}>{title}</h1>}
      {record && <div className={classes.record}>{record}</div>}
    </div>
  );
}
