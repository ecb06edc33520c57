/** What can be done with a run that ended: read its report, measure its answers again, delete it. */
import { Button, Group, Modal } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { currentToken, requireToken } from "@/api/token";
import { plural } from "@/ui/format";
import classes from "./benchmarks.module.css";
import { type Run, useDeleteRun, useRescore } from "./data";

export function EndedActions({ run }: { run: Run }) {
  const mayEdit = useMay("editor");
  const rescore = useRescore(run.id);
  const [deleting, setDeleting] = useState(false);
  return (
    <>
      <ReportLink runId={run.id} />
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

/** A plain link; a server that asks for a token gets it in the header, which only a fetch can send. */
function ReportLink({ runId }: { runId: string }) {
  const [problem, setProblem] = useState("");
  const href = `/api/v1/benchmarks/runs/${encodeURIComponent(runId)}/report.html`;
  return (
    <>
      <Button
        component="a"
        variant="default"
        href={href}
        target="_blank"
        rel="noreferrer"
        onClick={(event) => {
          const token = currentToken();
          if (!token) return;
          event.preventDefault();
          save(href, `report-${runId}.html`, token).then(setProblem, () => setProblem("The server does not answer."));
        }}
      >
        Report
      </Button>
      {problem && <p className={classes.problem}>{problem}</p>}
    </>
  );
}

/** Saves the report as a file; gives what went wrong, or an empty text. */
async function save(href: string, name: string, token: string): Promise<string> {
  const answer = await fetch(href, { headers: { Authorization: `Bearer ${token}` } });
  if (answer.status === 401) requireToken();
  if (!answer.ok) return `The server answered ${answer.status}.`;
  const address = URL.createObjectURL(await answer.blob());
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  URL.revokeObjectURL(address);
  return "";
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
        <Button color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
          Delete the run
        </Button>
      </Group>
    </Modal>
  );
}
