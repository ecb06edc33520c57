/** Somebody else was first: their version and mine side by side, field by field, and one choice. */
import { Button, Group } from "@mantine/core";
import type { Case } from "./data";
import classes from "./desk.module.css";
import { Difference } from "./History";
import listClasses from "./list.module.css";
import type { Conflict } from "./useDraft";

type ConflictBannerProps = { conflict: Conflict; theirs: Case; onResolve: (choice: "mine" | "theirs") => void };

export function ConflictBanner({ conflict, theirs, onResolve }: ConflictBannerProps) {
  const both = Object.fromEntries(
    Object.entries(conflict.mine).map(([name, mine]) => [name, { old: theirs[name as keyof Case], new: mine }]),
  );
  return (
    <section className={classes.conflict} role="alert">
      <p>{conflict.message}</p>
      <p className={listClasses.source}>Struck through: what is there now. Underlined: what you wrote.</p>
      <Difference changes={both} />
      <Group gap="xs">
        <Button size="compact-sm" variant="default" onClick={() => onResolve("mine")}>
          Put mine on top
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onResolve("theirs")}>
          Take what is there
        </Button>
      </Group>
    </section>
  );
}
