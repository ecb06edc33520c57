/** One case of a sample: what is asked, what should be answered, and the contexts that must bear the answer out. */
import { Button } from "@mantine/core";
import { plural } from "@/ui/format";
import { visible } from "@/ui/visible";
import type { Sampled } from "./data";
import classes from "./datasets.module.css";
import { LineageTrail } from "./LineageTrail";
import { readingOf } from "./reading";

type DrawnProps = { dataset: string; one: Sampled; required?: string[]; open: boolean; toggle: () => void };

export function Drawn({ dataset, one, required, open, toggle }: DrawnProps) {
  const { asked, answer, contexts } = readingOf(one.record, required);
  const cited = contexts.filter((context) => context.cited).length;
  return (
    <li>
      <div className={classes.drawnHead}>
        <code>{one.id}</code>
        <span className="eg-dim">{one.split}</span>
        <Button variant="subtle" size="compact-sm" aria-expanded={open} onClick={toggle}>
          Lineage
        </Button>
      </div>
      <p className={classes.said} dir="auto">
        {visible(asked)}
      </p>
      <p className={classes.answer} dir="auto">
        {visible(answer || "(no reference)")}
      </p>
      {contexts.length > 0 && (
        <details className={classes.contexts}>
          <summary>
            {plural(contexts.length, "context")}, {cited} cited
          </summary>
          <ol>
            {contexts.map((context, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: contexts have no name but their place
              <li key={place} data-cited={context.cited}>
                <p className={classes.said} dir="auto">
                  {visible(context.text || "(lost)")}
                </p>
                {context.source && <code className={classes.hash}>{context.source}</code>}
              </li>
            ))}
          </ol>
        </details>
      )}
      {open && <LineageTrail dataset={dataset} caseId={one.id} />}
    </li>
  );
}
