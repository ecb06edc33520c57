/** Which built-in checks run, and which of them must have given a result before a trace is golden. */
import { Checkbox, Stack, Switch, VisuallyHidden } from "@mantine/core";
import type { Rules, RulesView } from "./data";
import classes from "./rules.module.css";

type ChecksFormProps = {
  checks: RulesView["checks"];
  rules: Rules;
  disabled: boolean;
  held: boolean;
  onChange: (rules: Rules) => void;
};

export function ChecksForm({ checks, rules, disabled, held, onChange }: ChecksFormProps) {
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
