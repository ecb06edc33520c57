/** A judge that nobody measured against people gives numbers to be careful with; reviews of the dataset measure it. */
import { Button } from "@mantine/core";
import { useMay } from "@/api/access";
import { useCalibrate, useCalibration } from "./data";
import classes from "./run.module.css";

export function Uncalibrated({ runId }: { runId: string }) {
  const states = useCalibration(runId);
  const calibrate = useCalibrate(runId);
  const may = useMay("editor");
  const doubts = Object.entries(states.data ?? {}).filter(([, state]) => state !== "calibrated");
  if (doubts.length === 0) return null;
  return (
    <div className={classes.doubt} role="note">
      The judge is uncalibrated for {doubts.map(([metric, state]) => `${metric} (${state})`).join(", ")}. Read these
      numbers with care until it is measured against people's labels.
      {may && (
        <Button size="compact-sm" variant="default" loading={calibrate.isPending} onClick={() => calibrate.mutate()}>
          Calibrate from reviews
        </Button>
      )}
      {calibrate.isError && <p role="alert">{calibrate.error.message}</p>}
    </div>
  );
}
