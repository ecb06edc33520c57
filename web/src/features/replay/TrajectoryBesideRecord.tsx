/** A replayed trajectory beside the recorded one. */
import { Failed, Loading } from "@/ui/states";
import { useTrajectory } from "./data";
import classes from "./replay.module.css";
import { StepTable } from "./StepTable";

type Props = { runId: string; caseId: string; trial: number };

export function TrajectoryBesideRecord({ runId, caseId, trial }: Props) {
  const trajectory = useTrajectory(runId, caseId, trial);
  if (trajectory.isPending) return <Loading what="trajectory" />;
  if (trajectory.isError) return <Failed error={trajectory.error} />;
  const { rows, why, stopped } = trajectory.data;
  return (
    <section aria-label="Trajectory beside the record">
      <h4 className={classes.title}>Trajectory beside the record</h4>
      <p className={classes.note}>
        {rows.length === 0 ? "No call was recorded and none was made" : (why ?? "The calls are the recorded ones")}.
        {stopped && ` Stopped: ${stopped}.`}
      </p>
      <StepTable sides={[{ title: "Replayed", trajectory: trajectory.data }]} />
    </section>
  );
}
