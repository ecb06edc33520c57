/** The simulated user of a case: a draft is marked as one until the reviewer confirms it, as it is or changed. */
import { Button, Textarea } from "@mantine/core";
import type { Schemas } from "@/api/client";
import { useKept } from "@/ui/forms";
import { useConfirmUser, userOf } from "./data";
import classes from "./replay.module.css";

type Typed = { goal: string; persona: string };
type Props = { entry: Pick<Schemas["Case"], "dataset" | "id" | "version" | "metadata"> };

export function SimulatedUser({ entry }: Props) {
  const user = userOf(entry.metadata);
  const [typed, setTyped] = useKept<Typed | null>(`user ${entry.dataset}/${entry.id}`, null);
  const { goal, persona } = typed ?? { goal: user?.goal ?? "", persona: user?.persona ?? "" };
  const confirm = useConfirmUser(entry.dataset ?? "", entry.id, entry.version ?? 1);
  if (user === null) return null; // most cases are never played with a simulated user
  const changed = goal !== user.goal || persona !== user.persona;
  return (
    <section className={classes.replays} aria-label="Simulated user">
      <h4 className={classes.title}>Simulated user</h4>
      {user.draftedBy !== null && (
        <p className={classes.draft} role="note">
          Drafted by {user.draftedBy === "rule" ? "a rule" : user.draftedBy}, not reviewed yet.
        </p>
      )}
      <Textarea
        label="Goal"
        description="What the user wants to reach"
        autosize
        maxRows={8}
        value={goal}
        onChange={(event) => setTyped({ goal: event.currentTarget.value, persona })}
      />
      <Textarea
        label="Persona"
        description="Who they are, how they write, and the facts they give"
        autosize
        maxRows={12}
        value={persona}
        onChange={(event) => setTyped({ goal, persona: event.currentTarget.value })}
      />
      {(user.draftedBy !== null || changed) && (
        <Button
          className={classes.confirm}
          variant="default"
          disabled={goal.trim() === ""}
          loading={confirm.isPending}
          onClick={() => confirm.mutate({ goal, persona }, { onSuccess: () => setTyped(null) })}
        >
          {changed ? "Save the user" : "Confirm the user"}
        </Button>
      )}
      {confirm.isError && <p className={classes.problem}>{confirm.error.message}</p>}
    </section>
  );
}
