/** What decides whether a trace becomes a case: change it, see what that would do, save it, go back. */
import { Button, Checkbox, NumberInput, SimpleGrid, Stack, Switch, TagsInput, VisuallyHidden } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useMay } from "@/api/access";
import { plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { type Rules, type RulesView, useRules, useSaveRules } from "./data";
import { History, Preview } from "./Preview";
import classes from "./rules.module.css";

const route = getRouteApi("/rules");

export function RulesPage() {
  const seen = useRules();
  return (
    <Page
      title="Curation rules"
      lead={
        <>
          What makes a trace golden, a failure or neither. <Link to="/">Back to the overview</Link>
        </>
      }
    >
      {seen.isPending ? (
        <Loading what="rules" />
      ) : !seen.data ? (
        <Failed error={seen.error} retry={() => void seen.refetch()} />
      ) : (
        <Editor now={seen.data} />
      )}
    </Page>
  );
}

/** `now` are the rules in force; `view` those that the form began with, which stay under unsaved changes. */
function Editor({ now }: { now: RulesView }) {
  const { part } = route.useSearch();
  const mayEdit = useMay("editor");
  const [view, setView] = useState(now);
  const [rules, setRules] = useState<Rules>(view.rules);
  const save = useSaveRules();
  const changed = JSON.stringify(rules) !== JSON.stringify(view.rules);
  const moved = now.number !== view.number;
  const begin = (with_: RulesView) => {
    setView(with_);
    setRules(with_.rules);
  };
  // Waiting traces are counted anew, and rules somebody else saved are taken over where nothing was typed.
  if (now !== view && (!moved || !changed)) {
    setView(now);
    if (moved) setRules(now.rules);
  }
  const store = (chosen: Rules, why: string) =>
    save.mutate({ rules: chosen, base: view.number, why }, { onSuccess: begin });
  useEffect(() => {
    const field = part && document.getElementById(part);
    if (field) {
      field.scrollIntoView({ block: "center" });
      field.focus({ preventScroll: true });
    }
  }, [part]);
  return (
    <div className={classes.grid}>
      <div className={classes.forms}>
        <Panel title="Golden and failure" aside={view.policy_set_by && `set by ${view.policy_set_by}`}>
          <PolicyForm
            policy={rules.policy ?? {}}
            disabled={!mayEdit || view.policy_set_by !== ""}
            onChange={(policy) => setRules({ ...rules, policy })}
          />
        </Panel>
        <Panel title="Built-in checks" aside={view.checks_set_by && `set by ${view.checks_set_by}`}>
          <ChecksForm
            checks={view.checks}
            rules={rules}
            disabled={!mayEdit}
            held={view.checks_set_by !== ""}
            onChange={setRules}
          />
        </Panel>
      </div>
      <div className={classes.side}>
        <Panel title="What it would change">
          {moved && changed && (
            <div role="alert" className={classes.problem}>
              <p>Somebody else changed the rules meanwhile. Yours are still in the form.</p>
              <Button size="compact-sm" variant="default" onClick={() => setView(now)}>
                Keep mine
              </Button>{" "}
              <Button size="compact-sm" variant="default" onClick={() => begin(now)}>
                Take theirs
              </Button>
            </div>
          )}
          <Preview
            rules={rules}
            changed={changed}
            mayEdit={mayEdit}
            saving={save.isPending}
            problem={save.error?.message}
            onSave={(why) => store(rules, why)}
            onReset={() => setRules(view.rules)}
          />
          {view.waiting > 0 && !changed && (
            <p className={classes.calm} role="status">
              {plural(view.waiting, "trace")} {view.waiting === 1 ? "waits" : "wait"} to be judged by these rules.
            </p>
          )}
        </Panel>
        <Panel title="Changes so far">
          <History view={view} mayEdit={mayEdit} busy={save.isPending} onRestore={store} />
        </Panel>
      </div>
    </div>
  );
}

const BUILT_IN = { thresholds: { failure_below: 0.3, golden_from: 0.8 }, limit: { candidates_per_day: 200 } };

type Policy = NonNullable<Rules["policy"]>;
type PolicyFormProps = { policy: Policy; disabled: boolean; onChange: (policy: Policy) => void };

const THRESHOLDS = [
  {
    name: "golden_from",
    id: "thresholds",
    label: "Golden from",
    description: "Every system score must be at least this",
  },
  { name: "failure_below", label: "Failure below", description: "One score below this makes a failure" },
] as const;

/** The numbers and lists of the policy that people change most. What else it says stays as it is. */
function PolicyForm({ policy, disabled, onChange }: PolicyFormProps) {
  const { thresholds = BUILT_IN.thresholds, limit = BUILT_IN.limit } = policy;
  const set = (changes: Partial<Policy>) => onChange({ ...policy, ...changes });
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {THRESHOLDS.map(({ name, ...words }) => (
          <NumberInput
            key={name}
            {...words}
            min={0.05}
            max={1}
            step={0.05}
            decimalScale={2}
            disabled={disabled}
            value={thresholds[name]}
            onChange={(value) => typeof value === "number" && set({ thresholds: { ...thresholds, [name]: value } })}
          />
        ))}
      </SimpleGrid>
      <NumberInput
        id="limit"
        label="Candidates a day"
        description="The most that checks alone may make of one day; what the app or people score is never limited"
        min={0}
        step={50}
        allowDecimal={false}
        disabled={disabled}
        value={limit.candidates_per_day}
        onChange={(value) => typeof value === "number" && set({ limit: { ...limit, candidates_per_day: value } })}
      />
      <TagsInput
        label="Scores that do not count"
        description="Names of scores that never take part; Enter after each"
        readOnly={disabled}
        value={policy.ignore ?? []}
        onChange={(ignore) => set({ ignore })}
        clearButtonProps={{ "aria-label": "Clear the scores" }}
      />
      <TagsInput
        id="fallback_texts"
        label="Fallback texts"
        description="Replies that are never golden; a * at the end stands for whatever follows; Enter after each"
        splitChars={[]}
        readOnly={disabled}
        value={policy.fallback_texts ?? []}
        onChange={(fallback_texts) => set({ fallback_texts })}
        clearButtonProps={{ "aria-label": "Clear the fallback texts" }}
      />
    </Stack>
  );
}

type ChecksFormProps = {
  checks: RulesView["checks"];
  rules: Rules;
  disabled: boolean;
  held: boolean;
  onChange: (rules: Rules) => void;
};

/** Which built-in checks run, and which of them must have given a result before a trace is golden. */
function ChecksForm({ checks, rules, disabled, held, onChange }: ChecksFormProps) {
  const off = rules.checks_off ?? [];
  const needed = rules.policy?.checks ?? [];
  const turn = (name: string, on: boolean) =>
    onChange({ ...rules, checks_off: on ? off.filter((each) => each !== name) : [...off, name].sort() });
  const need = (name: string, wanted: boolean) => {
    const now = wanted ? [...needed, name].sort() : needed.filter((each) => each !== name);
    onChange({ ...rules, policy: { ...rules.policy, checks: now } });
  };
  return (
    <Stack>
      <Switch
        id="checks"
        label="Check every trace as it comes"
        description="Without checks and without scores from the app nothing becomes golden"
        checked={rules.checks_on}
        disabled={disabled || held}
        onChange={(event) => onChange({ ...rules, checks_on: event.currentTarget.checked })}
      />
      <ul className={classes.checks}>
        {checks.map((check) => {
          const on = !check.held_off_by && !off.includes(check.name);
          return (
            <li key={check.name} className={classes.check}>
              <Checkbox
                label={check.name}
                description={check.held_off_by ? `turned off by ${check.held_off_by}` : check.does}
                checked={on}
                disabled={disabled || !rules.checks_on || check.held_off_by !== ""}
                onChange={(event) => turn(check.name, event.currentTarget.checked)}
              />
              <Checkbox
                size="xs"
                label={
                  <>
                    required<VisuallyHidden> {check.name}</VisuallyHidden>
                  </>
                }
                checked={needed.includes(check.name)}
                disabled={disabled || !rules.checks_on || !on}
                onChange={(event) => need(check.name, event.currentTarget.checked)}
              />
            </li>
          );
        })}
      </ul>
      <p className={classes.calm}>
        A trace is golden only after every required check has given a result, or does not apply to it.
      </p>
    </Stack>
  );
}
