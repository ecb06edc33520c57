/**
 * What colleagues said. Hidden until this reviewer has spoken, where several must agree: an opinion read before one's own is
 * not independent. Shown at once when they differ, because then somebody must rule.
 */
import { Button, Group } from "@mantine/core";
import { useState } from "react";
import type { CaseFile, Saying } from "./data";
import classes from "./desk.module.css";

type OpinionsProps = { file: CaseFile; me: string; onSay: (saying: Saying) => void };

export function Opinions({ file, me, onSay }: OpinionsProps) {
  const [open, setOpen] = useState(false);
  const spoken = file.opinions.filter((opinion) => opinion.verdict !== "skip");
  if (spoken.length === 0) return null;
  const disputed = file.standing === "disputed";
  const visible = open || disputed || spoken.some((opinion) => opinion.reviewer === me);
  return (
    <section className={classes.opinions} aria-label="Opinions">
      <h3>
        {disputed ? "Reviewers differ" : file.standing === "second_opinion" ? "A second opinion is wanted" : "Opinions"}{" "}
        ({spoken.length})
      </h3>
      {visible ? (
        <ul>
          {spoken.map((opinion) => (
            <li key={`${opinion.reviewer} ${opinion.created_at}`}>
              <b>{opinion.reviewer}</b>: {opinion.verdict.replace("_", " ")}
              {opinion.adjudicate && " (ruling)"}
              {opinion.comment && ` — ${opinion.comment}`}
            </li>
          ))}
        </ul>
      ) : (
        <Button size="compact-xs" variant="default" onClick={() => setOpen(true)}>
          Show them before I decide
        </Button>
      )}
      {disputed && (
        <Group gap="xs" mt={6}>
          <Button size="compact-sm" variant="default" onClick={() => onSay({ verdict: "approve", adjudicate: true })}>
            Rule: approve
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => onSay({ verdict: "dismiss", adjudicate: true })}>
            Rule: dismiss
          </Button>
        </Group>
      )}
    </section>
  );
}
