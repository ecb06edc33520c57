/** Small facts about one thing: a name on the left, a value on the right. Empty values are left out. */
import { Fragment, type ReactNode } from "react";
import classes from "./Facts.module.css";
import { visible } from "./visible";

export type Fact = readonly [name: string, value: ReactNode];

export function Facts({ facts }: { facts: readonly Fact[] }) {
  const present = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (present.length === 0) return null;
  return (
    <dl className={classes.facts}>
      {present.map(([name, value]) => (
        <Fragment key={name}>
          <dt dir="auto">{visible(name)}</dt>
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
