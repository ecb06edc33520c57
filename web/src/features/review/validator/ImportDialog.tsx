/** Before an import that is not plain: what is wrong with the files, and the three-way choice for edited cases. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { Dialog } from "@/ui/forms";
import dialogs from "./dialogs.module.css";
import { offered, type Proposal, summary } from "./importing";
import type { Problem } from "./importJsonl";
import { ReimportChoices } from "./ReimportChoices";
import type { Choice } from "./reimport";

const SHOWN_PROBLEMS = 200;

type ImportDialogProps = {
  proposal: Proposal;
  onCancel: () => void;
  onImport: (chosen: { [key: string]: Choice }) => void;
};

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
      <ul className={dialogs.problems}>
        {problems.slice(0, SHOWN_PROBLEMS).map((problem, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a fixed list of remarks, some of them equal
          <li key={index}>
            <div className={dialogs.where}>
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
