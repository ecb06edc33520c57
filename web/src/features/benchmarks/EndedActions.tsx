/** What can be done with a run that ended: read its report, measure its answers again, calibrate its judge, delete it. */
import { Button, CopyButton, Group, Modal } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { plural } from "@/ui/format";
import { Download } from "@/ui/states";
import classes from "./benchmarks.module.css";
import { type Run, useCalibrate, useCalibration, useDeleteRun, useRescore } from "./data";

export function EndedActions({ run }: { run: Run }) {
  const mayEdit = useMay("editor");
  const rescore = useRescore(run.id);
  const [deleting, setDeleting] = useState(false);
  return (
    <>
      <ReportLink runId={run.id} />
      <ShareButton />
      {mayEdit && (
        <>
          <Button variant="default" loading={rescore.isPending} onClick={() => rescore.mutate()}>
            Score again
          </Button>
          <Button variant="default" onClick={() => setDeleting(true)}>
            Delete…
          </Button>
        </>
      )}
      {rescore.isError && <p className={classes.runProblem}>{rescore.error.message}</p>}
      <DeleteDialog run={run} opened={deleting} close={() => setDeleting(false)} />
    </>
  );
}

function ReportLink({ runId }: { runId: string }) {
  return (
    <Download href={`/api/v1/benchmarks/runs/${encodeURIComponent(runId)}/report.html`} name={`report-${runId}.html`}>
      {(link) => (
        <Button component="a" variant="default" target="_blank" rel="noreferrer" {...link}>
          Report
        </Button>
      )}
    </Download>
  );
}

/** The address of what is shown, to send to somebody. */
export function ShareButton() {
  return (
    <CopyButton value={window.location.href}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy}>
          {copied ? "Link copied" : "Copy link"}
        </Button>
      )}
    </CopyButton>
  );
}

function DeleteDialog({ run, opened, close }: { run: Run; opened: boolean; close: () => void }) {
  const navigate = useNavigate();
  const remove = useDeleteRun(run.id, () => void navigate({ to: "/benchmarks" }));
  return (
    <Modal opened={opened} onClose={close} title="Delete this run?" centered>
      <p className={classes.runNote}>
        {plural(run.done ?? 0, "attempt")} of {run.spec.model} on {run.spec.dataset} and their scores are deleted. This
        cannot be undone.
      </p>
      {remove.isError && <p className={classes.runProblem}>{remove.error.message}</p>}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={close}>
          Keep it
        </Button>
        <Button color="rust" loading={remove.isPending} onClick={() => remove.mutate()}>
          Delete the run
        </Button>
      </Group>
    </Modal>
  );
}

/** A judge that nobody measured against people gives numbers to be careful with; reviews of the dataset measure it. */
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
