/** What the rules in the form would make of the newest traces, and the buttons that put them in force. */
import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { ApiError } from "@/api/client";
import { count, moment, plural } from "@/ui/format";
import { Loading } from "@/ui/states";
import { type Rules, type RulesChange, type RulesView, usePreview } from "./data";
import classes from "./rules.module.css";

const PAUSE_MS = 300;

type PreviewProps = {
  rules: Rules;
  changed: boolean;
  mayEdit: boolean;
  saving: boolean;
  problem?: string;
  onSave: (why: string) => void;
  onReset: () => void;
};

export function Preview({ rules, changed, mayEdit, saving, problem, onSave, onReset }: PreviewProps) {
  const [why, setWhy] = useState("");
  const [settled] = useDebouncedValue(rules, PAUSE_MS);
  const preview = usePreview(settled);
  if (!mayEdit) return <p className={classes.calm}>Your role reads these rules. An editor changes them.</p>;
  if (preview.isPending) return <Loading what="preview" rows={3} />;
  const shown = preview.data;
  // A server that is away says nothing about the rules: saving them tries again.
  const refused = preview.error instanceof ApiError && preview.error.status > 0;
  return (
    <Stack gap="sm">
      <div aria-live="polite">
        {preview.isError ? (
          <p className={classes.problem}>{preview.error.message}</p>
        ) : (
          shown && <Effect shown={shown} changed={changed} />
        )}
      </div>
      {changed && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onSave(why.trim());
          }}
        >
          <Stack gap="sm">
            <TextInput
              label="Why"
              placeholder="for whoever reads the history"
              maxLength={500}
              value={why}
              onChange={(event) => setWhy(event.currentTarget.value)}
            />
            <Group>
              <Button type="submit" loading={saving} disabled={refused}>
                Save
              </Button>
              <Button variant="default" onClick={onReset}>
                Leave as it was
              </Button>
            </Group>
          </Stack>
        </form>
      )}
      {problem && (
        <p role="alert" className={classes.problem}>
          {problem}
        </p>
      )}
    </Stack>
  );
}

type EffectProps = { shown: NonNullable<ReturnType<typeof usePreview>["data"]>; changed: boolean };

function Effect({ shown, changed }: EffectProps) {
  const more = shown.golden_then + shown.candidate_then - shown.golden_now - shown.candidate_now;
  const says = !changed
    ? "These rules are in force."
    : more === 0
      ? "It would admit as many as now."
      : `It would admit ${count(Math.abs(more))} ${more > 0 ? "more" : "fewer"}.`;
  return (
    <>
      <p className={classes.effect}>{says}</p>
      <table className={classes.table}>
        <caption className={classes.calm}>Of the newest {plural(shown.traces, "trace")}</caption>
        <thead>
          <tr>
            <th scope="col">becomes</th>
            <th scope="col">now</th>
            {changed && <th scope="col">then</th>}
          </tr>
        </thead>
        <tbody>
          <Row name="golden" now={shown.golden_now} next={changed ? shown.golden_then : undefined} />
          <Row name="candidate" now={shown.candidate_now} next={changed ? shown.candidate_then : undefined} />
          <Row name="failure" now={shown.failure_now} next={changed ? shown.failure_then : undefined} />
          {shown.reasons.map((each) => (
            <Row key={each.reason} name={`out: ${each.reason}`} now={each.now} next={changed ? each.then : undefined} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function Row({ name, now, next }: { name: string; now: number; next?: number }) {
  return (
    <tr data-moved={next !== undefined && next !== now ? true : undefined}>
      <th scope="row">{name}</th>
      <td>{count(now)}</td>
      {next !== undefined && <td>{count(next)}</td>}
    </tr>
  );
}

type HistoryProps = {
  view: RulesView;
  mayEdit: boolean;
  busy: boolean;
  onRestore: (rules: Rules, why: string) => void;
};

/** Every change of the rules, newest first; any earlier state can be put back. */
export function History({ view, mayEdit, busy, onRestore }: HistoryProps) {
  const editable = mayEdit && view.policy_set_by === "" && view.checks_set_by === "";
  return (
    <ol className={classes.history}>
      {view.history.map((change) => (
        <li key={change.number}>
          <div>
            <b>{change.number === 0 ? "As the workspace began" : `Change ${change.number}`}</b>
            {change.number > 0 && (
              <span className="eg-dim">
                {" "}
                by {change.who}, {moment(change.created_at)}
              </span>
            )}
            {change.why && <div>{change.why}</div>}
          </div>
          {change.number === view.number ? (
            <span className="eg-dim">in force</span>
          ) : (
            editable && (
              <Button
                variant="default"
                size="xs"
                disabled={busy}
                aria-label={`Go back to ${nameOf(change)}`}
                onClick={() => onRestore(change.rules, `back to ${nameOf(change)}`)}
              >
                Go back
              </Button>
            )
          )}
        </li>
      ))}
    </ol>
  );
}

function nameOf(change: RulesChange): string {
  return change.number === 0 ? "the beginning" : `change ${change.number}`;
}
