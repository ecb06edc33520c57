/** The dialogs of import and export: what is wrong with files, the three-way choice for edited cases, what is left out. */
import { Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { Dialog } from "@/ui/forms";
import { saveFile } from "@/ui/states";
import type { Content } from "../content";
import desk from "../desk.module.css";
import { type Choice, type Clash, type Field, offered, type Proposal, summary } from "./imports";
import { EXPORT_NAMES, exportSession, type Problem } from "./rows";
import type { Session } from "./session";
import classes from "./validator.module.css";

const SHOWN_PROBLEMS = 200;

type ImportDialogProps = {
  proposal: Proposal;
  onCancel: () => void;
  onImport: (chosen: { [key: string]: Choice }) => void;
};

/** Before an import that is not plain. */
export function ImportDialog({ proposal, onCancel, onImport }: ImportDialogProps) {
  const [chosen, setChosen] = useState<{ [key: string]: Choice }>({});
  const { plan, problems } = proposal;
  const count = offered(plan);
  const foreign = proposal.files.filter((file) => file.kind === "other");
  return (
    <Dialog onClose={onCancel} title="Import" size="xl">
      <Stack gap="md">
        <Text size="sm">
          {summary(proposal)}
          {foreign.length > 0 && `. Not a dataset A or B file: ${foreign.map((file) => file.file).join(", ")}`}
        </Text>
        {problems.length > 0 && <Problems problems={problems} />}
        {plan.clashes.length > 0 && <ReimportChoices clashes={plan.clashes} chosen={chosen} onChoose={setChosen} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {count === 0 ? "Close" : "Cancel"}
          </Button>
          {count > 0 && (
            <Button onClick={() => onImport(chosen)} data-autofocus>
              Import {count} {count === 1 ? "case" : "cases"}
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

const EFFECT: Record<Problem["effect"], string> = { refused: "left out", repaired: "repaired", note: "note" };

function Problems({ problems }: { problems: Problem[] }) {
  return (
    <section aria-label="Problems found">
      <Text size="sm" fw={600} mb={4}>
        {problems.length} {problems.length === 1 ? "remark" : "remarks"}
      </Text>
      <ul className={classes.problems}>
        {problems.slice(0, SHOWN_PROBLEMS).map((problem, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a fixed list of remarks, some of them equal
          <li key={index}>
            <div className={classes.where}>
              {problem.file}
              {problem.line !== null && ` · line ${problem.line}`}
              {problem.field !== null && ` · ${problem.field}`} · {EFFECT[problem.effect]}
            </div>
            {problem.message}
          </li>
        ))}
      </ul>
      {problems.length > SHOWN_PROBLEMS && <Text size="xs">and {problems.length - SHOWN_PROBLEMS} more</Text>}
    </section>
  );
}

type ReimportChoicesProps = {
  clashes: Clash[];
  chosen: { [key: string]: Choice };
  onChoose: (chosen: { [key: string]: Choice }) => void;
};

const OPTIONS = [
  { value: "merge", label: "Merge (mine where both changed)" },
  { value: "mine", label: "Keep mine" },
  { value: "theirs", label: "Take the file's" },
];

/** A case edited here and changed in the file: last import, mine and theirs side by side, and one choice each. */
function ReimportChoices({ clashes, chosen, onChoose }: ReimportChoicesProps) {
  const value = (key: string) => (typeof chosen[key] === "string" ? chosen[key] : "merge");
  const choice = (option: string): Choice => (option === "mine" || option === "theirs" ? option : {});
  const all = (option: string) => onChoose(Object.fromEntries(clashes.map(({ key }) => [key, choice(option)])));
  return (
    <section aria-label="Edited cases that changed in the file">
      <Text size="sm" fw={600}>
        {clashes.length} edited or validated {clashes.length === 1 ? "case differs" : "cases differ"} in the file
      </Text>
      {clashes.length > 1 && (
        <SegmentedControl aria-label="For all" fullWidth size="xs" mt={6} data={OPTIONS} onChange={all} />
      )}
      {clashes.slice(0, 50).map((clash) => (
        <div key={clash.key} className={classes.clash}>
          <Text size="sm">{clash.key}</Text>
          <SegmentedControl
            aria-label={`Choice for ${clash.key}`}
            fullWidth
            size="xs"
            data={OPTIONS}
            value={value(clash.key) as string}
            onChange={(option) => onChoose({ ...chosen, [clash.key]: choice(option) })}
          />
          {clash.fields.map(({ field, changed }) => (
            <div key={field}>
              <Text size="xs" c="dimmed" mt={6}>
                {field}: changed {changed === "both" ? "on both sides" : changed === "mine" ? "here" : "in the file"}
              </Text>
              <div className={classes.sides}>
                <Side title="Last import" content={clash.state.imported} field={field} />
                <Side title="Mine" content={clash.state.content} field={field} />
                <Side title="The file" content={clash.theirs} field={field} />
              </div>
            </div>
          ))}
        </div>
      ))}
      {clashes.length > 50 && <Text size="xs">and {clashes.length - 50} more, decided by the choice for all</Text>}
    </section>
  );
}

function Side({ title, content, field }: { title: string; content: Content; field: Field }) {
  const value = content[field];
  return (
    <div>
      <Text size="xs" fw={600}>
        {title}
      </Text>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{typeof value === "string" ? value || "(empty)" : JSON.stringify(value, null, 1)}</pre>
    </div>
  );
}

const rowsFile = (text: string) => new Blob([text], { type: "application/x-ndjson" });

type ExportDialogProps = { session: Session; onClose: () => void; onGo: (key: string) => void };

/** The two validated files, and every case that is not in them with what it lacks. */
export function ExportDialog({ session, onClose, onGo }: ExportDialogProps) {
  const { a, b, counts, leftOut } = useMemo(() => exportSession(session), [session]);
  return (
    <Dialog onClose={onClose} title="Export validated rows" size="lg">
      <Stack gap="md">
        <Group>
          <Button disabled={counts.a === 0} onClick={() => saveFile(EXPORT_NAMES.a, rowsFile(a))} data-autofocus>
            Download A ({counts.a} rows)
          </Button>
          <Button disabled={counts.b === 0} onClick={() => saveFile(EXPORT_NAMES.b, rowsFile(b))}>
            Download B ({counts.b} rows)
          </Button>
        </Group>
        {leftOut.length === 0 ? (
          <Text size="sm">Every case is in.</Text>
        ) : (
          <section aria-label="Left out">
            <Text size="sm" fw={600}>
              {leftOut.length} {leftOut.length === 1 ? "case is" : "cases are"} left out
            </Text>
            <ul className={classes.problems}>
              {leftOut.slice(0, 200).map((left) => (
                <li key={left.caseId}>
                  <button type="button" className={desk.linkish} onClick={() => onGo(left.caseId)}>
                    {left.caseId}
                  </button>
                  : {left.lacks.join("; ")}
                </li>
              ))}
            </ul>
            {leftOut.length > 200 && <Text size="xs">and {leftOut.length - 200} more</Text>}
          </section>
        )}
      </Stack>
    </Dialog>
  );
}
