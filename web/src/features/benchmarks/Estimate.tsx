/** What a run would take and could show, asked of the server while the form is filled in. */
import { useDebouncedValue } from "@mantine/hooks";
import { Facts } from "@/ui/Facts";
import { count, plural } from "@/ui/format";
import { type Spec, usePlan } from "./data";
import classes from "./run.module.css";
import { decimals, money } from "./words";

export function Estimate({ spec }: { spec: Spec | null }) {
  const [settled] = useDebouncedValue(spec, 400);
  const plan = usePlan(settled);
  return (
    <div className={classes.estimate} aria-live="polite">
      {!settled && <p className={classes.note}>Choose a dataset, a model and a metric to see what it would take.</p>}
      {settled && plan.isError && <p className={classes.problem}>{plan.error.message}</p>}
      {settled && plan.isPending && <p className={classes.note}>Estimating…</p>}
      {plan.data && (
        <>
          <Facts
            facts={[
              ["Cases", count(plan.data.cases)],
              ["The model", plan.data.calls ? plural(plan.data.calls, "call") : "not called"],
              ["The judge", plan.data.judge && `${plan.data.judge}, ${plural(plan.data.judge_calls, "call")}`],
              ["Cost", priceInWords(plan.data.cost)],
              ["Judging", plan.data.judge && priceInWords(plan.data.judge_cost ?? null)],
            ]}
          />
          <p className={classes.note}>
            The smallest difference this many cases can show is about {decimals(plan.data.smallest_visible_effect)}.
          </p>
        </>
      )}
    </div>
  );
}

function priceInWords(cost: number | null): string {
  return cost === null ? "unknown: no price is known" : cost === 0 ? "nothing" : `about ${money(cost)}`;
}
