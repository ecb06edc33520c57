/** What can be done with a run that ended: read its report, measure its answers again, delete it. */
import { Button, CopyButton, Group, Modal } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { Download } from "@/ui/download";
import { plural } from "@/ui/format";
import { type Run, useDeleteRun, useRescore } from "./data";
import classes from "./run.module.css";

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
      {rescore.isError && <p className={classes.problem}>{rescore.error.message}</p>}
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
      <p className={classes.note}>
        {plural(run.done ?? 0, "attempt")} of {run.spec.model} on {run.spec.dataset} and their scores are deleted. This
        cannot be undone.
      </p>
      {remove.isError && <p className={classes.problem}>{remove.error.message}</p>}
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
