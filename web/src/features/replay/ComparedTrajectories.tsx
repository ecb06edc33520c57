/** The cases that left the record in one of two replays; one of them opens step by step, both runs beside the record. */
import { useState } from "react";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { useDiffering, useTrajectory } from "./data";
import classes from "./replay.module.css";
import { StepTable } from "./StepTable";

type Props = { first: string; second: string; names: readonly [string, string] };

export function ComparedTrajectories({ first, second, names }: Props) {
  const differing = useDiffering(first, second);
  const [open, setOpen] = useState<string | null>(null);
  return (
    <Panel title={`Trajectories of ${names[1]} and ${names[0]} beside the record`}>
      {differing.isPending && <Loading what="trajectories" rows={3} />}
      {differing.isError && <p className={classes.note}>{differing.error.message}</p>}
      {differing.data?.length === 0 && <p className={classes.note}>Both runs made the recorded calls in every case.</p>}
      {differing.data && differing.data.length > 0 && (
        <ul className={classes.cases}>
          {differing.data.map((one) => (
            <li key={one.case_id}>
              <button
                type="button"
                aria-expanded={open === one.case_id}
                onClick={() => setOpen(open === one.case_id ? null : one.case_id)}
              >
                <span dir="auto">
                  {one.question || one.case_id}
                  <span className={classes.under}>{one.case_id}</span>
                </span>
                <span className={classes.values}>
                  {one.first.toFixed(3)} → {one.second.toFixed(3)}
                </span>
              </button>
              {open === one.case_id && <Both first={first} second={second} names={names} caseId={one.case_id} />}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Both({ first, second, names, caseId }: Props & { caseId: string }) {
  const one = useTrajectory(first, caseId, 0);
  const other = useTrajectory(second, caseId, 0);
  if (one.isPending || other.isPending) return <Loading what="trajectories" rows={3} />;
  if (one.isError || other.isError) return <Failed error={one.error ?? other.error} />;
  const sides = [
    { title: names[0], trajectory: one.data },
    { title: names[1], trajectory: other.data },
  ];
  return (
    <section aria-label="Two trajectories beside the record">
      {sides.map(({ title, trajectory }) => (
        <p key={title} className={classes.note}>
          <strong>{title}</strong>: {trajectory.why ?? "the recorded calls"}.
        </p>
      ))}
      <StepTable sides={sides} />
    </section>
  );
}
