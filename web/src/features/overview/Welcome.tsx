/** The first visit: what this is, the loop, three ways in; then a list of steps that ticks itself while the first ones are made. */
import { Button } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { Beginning, SampleData, Snippets } from "@/ui/Beginning";
import { CheckIcon } from "@/ui/icons";
import { Panel } from "@/ui/Page";
import { CopyText } from "@/ui/states";
import { useFirstSteps } from "./data";
import classes from "./overview.module.css";

const LOOP = [
  { name: "Traces", does: "what your app really did" },
  { name: "Cases", does: "golden answers, failures, corrections" },
  { name: "Review", does: "people confirm or correct them" },
  { name: "Dataset", does: "frozen, versioned" },
  { name: "Benchmark", does: "which model is better, and by how much" },
];

export function Welcome() {
  return (
    <div className={classes.welcome}>
      <p className={classes.what}>
        Evergold turns what your app did in production into test cases that people can trust. Then it compares models
        and prompts on them, so that you know before a release what it will break.
      </p>
      <ol className={classes.loop} aria-label="The loop">
        {LOOP.map(({ name, does }) => (
          <li key={name}>
            <strong>{name}</strong>
            <span>{does}</span>
          </li>
        ))}
      </ol>
      <h2>Three ways to begin</h2>
      <ol className={classes.ways}>
        <li>
          <h3>OpenTelemetry: your app sends its traces here</h3>
          <p>If it is instrumented already, set this and start it. Its next answer shows up here by itself.</p>
          <CopyText what="the variable">{`export OTEL_EXPORTER_OTLP_ENDPOINT=${window.location.origin}`}</CopyText>
          <p>If it is not, add one of these where it starts:</p>
          <Snippets />
        </li>
        <li>
          <h3>Sample data: look around first</h3>
          <p>A support assistant, with scores of its users and corrections.</p>
          <SampleData />
        </li>
        <li>
          <h3>A file: traces that you have already</h3>
          <Beginning of="traces" />
        </li>
      </ol>
    </div>
  );
}

/** What is left of the first round through the loop; gone when all of it is done, or when somebody has seen enough. */
export function FirstSteps() {
  const [hidden, hide] = useLocalStorage({ key: "evergold.first-steps-hidden", defaultValue: false });
  const seen = useFirstSteps(!hidden);
  if (hidden || !seen.data || seen.data.every(({ done }) => done)) return null;
  const left = seen.data.filter(({ done }) => !done).length;
  return (
    <Panel
      title="First steps"
      aside={
        <Button size="compact-xs" variant="subtle" onClick={() => hide(true)}>
          Hide
        </Button>
      }
    >
      <ol className={classes.steps} aria-label={`First steps, ${left} left`}>
        {seen.data.map(({ label, to, done }) => (
          <li key={label} data-done={done || undefined}>
            <span className={classes.tick} aria-hidden="true">
              {done && <CheckIcon size={14} />}
            </span>
            {done ? (
              <span>
                {label}
                <span className="eg-visually-hidden"> (done)</span>
              </span>
            ) : (
              <Link to={to}>{label}</Link>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
