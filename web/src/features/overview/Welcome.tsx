/** What a newcomer sees before the first trace: exactly what to run, in the order to run it. */
import { Command } from "@/ui/states";
import classes from "./overview.module.css";

export function Welcome() {
  const endpoint = `${window.location.origin}/v1/traces`;
  return (
    <div className={classes.welcome}>
      <h2>Nothing has come in yet. Three ways to begin:</h2>
      <ol className={classes.ways}>
        <li>
          <h3>From an app that already speaks OpenTelemetry</h3>
          <p>Set one variable where the app runs. Its next answer shows up here by itself.</p>
          <Command>{`export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${endpoint}`}</Command>
        </li>
        <li>
          <h3>From a file of traces</h3>
          <p>Read it in, then let the policy decide what is golden.</p>
          <Command>{"evergold ingest traces.jsonl\nevergold curate"}</Command>
        </li>
        <li>
          <h3>With sample data</h3>
          <p>The whole loop on a small support assistant; no key and no network needed.</p>
          <Command>evergold demo</Command>
        </li>
      </ol>
    </div>
  );
}
