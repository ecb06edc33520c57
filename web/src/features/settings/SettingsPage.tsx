/** What this workspace is set to: models, alerts, people, redaction; what a file or the environment sets is read-only here. */
import { Button, Code, Select, Textarea, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { useIsOpen, useMay } from "@/api/access";
import { showToken } from "@/api/token";
import { age, count, moment } from "@/ui/format";
import { Facts, Page, Panel } from "@/ui/Page";
import { CopyText, Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import {
  ALERT_KINDS,
  type AlertKind,
  type AlertRule,
  limitsInWords,
  type Role,
  type SettingsView,
  useAddRule,
  useAddToken,
  useAlertRules,
  useMute,
  useRemoveRule,
  useRevokeToken,
  useSettings,
  useTestAlerts,
  useTokens,
  useTryEndpoint,
  useTryRedaction,
  valueInWords,
} from "./data";
import classes from "./settings.module.css";

export function SettingsPage() {
  const seen = useSettings();
  const mayOwn = useMay("owner");
  return (
    <Page
      title="Settings"
      lead="What this workspace is set to. What a file or the environment sets is shown with its source and changed there."
    >
      {seen.isPending ? (
        <Loading what="settings" />
      ) : !seen.data ? (
        <Failed error={seen.error} retry={() => void seen.refetch()} />
      ) : (
        <div className={classes.grid}>
          <Models view={seen.data} />
          <Alerts />
          {mayOwn && <Tokens />}
          <Redaction view={seen.data} />
          <Panel title="Curation">
            <p className={classes.calm}>
              Checks, thresholds and fallback texts are on <Link to="/rules">the page of the rules</Link>, with what a
              change would do before it is saved.
            </p>
          </Panel>
          <About view={seen.data} />
          <Everything view={seen.data} />
        </div>
      )}
    </Page>
  );
}

const NAMES: Record<string, string> = {
  models: "openai/… (any compatible server)",
  judge: "Judges at openai/…",
  anthropic: "anthropic/…",
  google: "google/…",
  mistral: "mistral/…",
};
const TRIED = ["models", "judge"];

function Models({ view }: { view: SettingsView }) {
  const mayOwn = useMay("owner");
  const trial = useTryEndpoint();
  return (
    <Panel title="Models and judges" aside={`judge where none is named: ${view.judge}`}>
      <Table head={["Endpoint", "Address", "Key", ""]}>
        {view.endpoints.map((end) => (
          <tr key={end.name}>
            <th scope="row">{NAMES[end.name] ?? end.name}</th>
            <td>
              {end.address ? visible(end.address) : "the provider's"}
              {end.address_from && <Source>{end.address_from}</Source>}
            </td>
            <td>{end.key_from ? <>set {<Source>{end.key_from}</Source>}</> : "no key"}</td>
            <td className={classes.act}>
              {mayOwn && TRIED.includes(end.name) && (
                <Button
                  size="compact-xs"
                  variant="default"
                  loading={trial.isPending && trial.variables === end.name}
                  onClick={() => trial.mutate(end.name)}
                >
                  Try {end.name === "judge" ? "the judge" : "it"}
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      <p className={classes.calm} role="status">
        {trial.data
          ? `${trial.data.message}${trial.data.todo ? `. To do: ${trial.data.todo}` : ""}`
          : (trial.error?.message ?? "Keys stay in the environment or in the settings file, never in the database.")}
      </p>
    </Panel>
  );
}

function Alerts() {
  const seen = useAlertRules();
  const mayEdit = useMay("editor");
  const mayOwn = useMay("owner");
  const test = useTestAlerts();
  if (!seen.data)
    return (
      <Panel title="Alerts">
        {seen.isPending ? <Loading what="alerts" rows={3} /> : <Failed error={seen.error} />}
      </Panel>
    );
  const { rules, webhook } = seen.data;
  return (
    <Panel
      title="Alerts"
      aside={webhook ? `sent to ${webhook}` : "no webhook is set: alerts are shown here and in the log"}
    >
      {rules.length === 0 ? (
        <p className={classes.calm}>Nothing is watched yet.</p>
      ) : (
        <Table head={["Rule", "Watches", "Set by", ""]}>
          {rules.map((rule) => (
            <RuleRow key={rule.name} rule={rule} mayEdit={mayEdit} />
          ))}
        </Table>
      )}
      {mayEdit && <NewRule />}
      {mayOwn && rules.length > 0 && (
        <div className={classes.row}>
          <Button size="compact-sm" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Read the rules and send a test
          </Button>
        </div>
      )}
      {test.data && (
        <ul className={classes.list} role="status">
          {test.data.readings.map((reading) => (
            <li key={`${reading.rule} ${reading.subject}`}>
              <strong>{reading.firing ? "fires" : "calm"}</strong> {visible(reading.text)}
            </li>
          ))}
          <li>
            {test.data.sent === null
              ? "Nothing was sent: no webhook is set."
              : test.data.sent
                ? `The test message arrived in ${test.data.seconds} s.`
                : `The test message did not arrive: ${test.data.error}`}
          </li>
        </ul>
      )}
    </Panel>
  );
}

const DAY_HOURS = 24;

function RuleRow({ rule, mayEdit }: { rule: AlertRule; mayEdit: boolean }) {
  const mute = useMute();
  const remove = useRemoveRule();
  const problem = mute.error ?? remove.error;
  return (
    <tr>
      <th scope="row">{visible(rule.name)}</th>
      <td>
        {ALERT_KINDS[rule.kind as AlertKind]?.label ?? rule.kind}
        <span className={classes.source}>{limitsInWords(rule)}</span>
        {rule.muted_until && <span className={classes.muted}>muted until {moment(rule.muted_until)}</span>}
        {problem && <span role="alert">{problem.message}</span>}
      </td>
      <td>{rule.origin === "settings" ? "the settings" : "people, here"}</td>
      <td className={classes.act}>
        {mayEdit && (
          <Button
            size="compact-xs"
            variant="default"
            loading={mute.isPending}
            onClick={() => mute.mutate({ rule: rule.name, hours: rule.muted_until ? 0 : DAY_HOURS })}
            aria-label={`${rule.muted_until ? "Unmute" : "Mute for a day:"} ${rule.name}`}
          >
            {rule.muted_until ? "Unmute" : "Mute a day"}
          </Button>
        )}
        {mayEdit && rule.origin === "workspace" && (
          <Button
            size="compact-xs"
            variant="subtle"
            color="red"
            loading={remove.isPending}
            onClick={() => remove.mutate(rule.name)}
            aria-label={`Remove ${rule.name}`}
          >
            Remove
          </Button>
        )}
      </td>
    </tr>
  );
}

function NewRule() {
  const [kind, setKind] = useState<AlertKind>("failing_rate");
  const [typed, setTyped] = useState<Record<string, string>>({});
  const add = useAddRule();
  const { fields } = ALERT_KINDS[kind];
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    const limits = Object.fromEntries(fields.map(({ name, initial }) => [name, typed[name] ?? initial]));
    add.mutate({ kind, ...limits }, { onSuccess: () => setTyped({}) });
  };
  return (
    <form className={classes.form} onSubmit={send}>
      <Select
        label="Watch"
        data={Object.entries(ALERT_KINDS).map(([value, { label }]) => ({ value, label }))}
        value={kind}
        allowDeselect={false}
        onChange={(value) => value && setKind(value as AlertKind)}
      />
      {fields.map(({ name, label, initial }) => (
        <TextInput
          key={name}
          label={label}
          value={typed[name] ?? initial}
          onChange={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
        />
      ))}
      <Button type="submit" variant="default" loading={add.isPending}>
        Add the rule
      </Button>
      {add.error && (
        <p role="alert" className={classes.problem}>
          {add.error.message}
        </p>
      )}
    </form>
  );
}

const ROLES: Record<Role, string> = {
  owner: "everything",
  editor: "everything but tokens, erasure and settings",
  reviewer: "read, decide and comment",
  ingest: "only send data",
  reader: "read",
};

function Tokens() {
  const seen = useTokens();
  const isOpen = useIsOpen();
  const add = useAddToken();
  const revoke = useRevokeToken();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("reviewer");
  const [asked, setAsked] = useState("");
  const valid = (seen.data ?? []).filter((token) => !token.revoked_at);
  const first = seen.data !== undefined && valid.length === 0 && isOpen;
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    add.mutate({ name, role: first ? "owner" : role, first }, { onSuccess: () => setName("") });
  };
  return (
    <Panel title="People and tokens" aside="once there is a token, every caller needs one">
      {valid.length > 0 && (
        <Table head={["Name", "Role", "Made", ""]}>
          {valid.map((token) => (
            <tr key={token.id}>
              <th scope="row">{visible(token.name)}</th>
              <td title={ROLES[token.role]}>{token.role}</td>
              <td title={moment(token.created_at)}>{age(token.created_at)}</td>
              <td className={classes.act}>
                <Button
                  size="compact-xs"
                  variant={asked === token.id ? "filled" : "subtle"}
                  color="red"
                  loading={revoke.isPending && revoke.variables === token.id}
                  onClick={() => (asked === token.id ? revoke.mutate(token.id) : setAsked(token.id))}
                  aria-label={`${asked === token.id ? "Really revoke" : "Revoke"} the token of ${token.name}`}
                >
                  {asked === token.id ? "Really revoke" : "Revoke"}
                </Button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <form className={classes.form} onSubmit={send}>
        <TextInput label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Select
          label="Role"
          data={Object.entries(ROLES).map(([value, may]) => ({ value, label: `${value}: ${may}` }))}
          value={first ? "owner" : role}
          disabled={first}
          allowDeselect={false}
          onChange={(value) => value && setRole(value as Role)}
        />
        <Button type="submit" variant="default" loading={add.isPending} disabled={!seen.data}>
          Make a token
        </Button>
        {add.error && (
          <p role="alert" className={classes.problem}>
            {add.error.message}
          </p>
        )}
      </form>
      {first && (
        <p className={classes.calm}>
          The first token is the owner's, because only an owner can make tokens for others. This browser keeps it and
          goes on with it.
        </p>
      )}
      {add.data && <ShownToken made={add.data} kept={add.variables?.first ?? false} />}
    </Panel>
  );
}

/** A token that was just made; nothing may cover it. */
function ShownToken({ made, kept }: { made: { name: string; token: string }; kept: boolean }) {
  useEffect(showToken, []);
  return (
    <div role="status">
      <p className={classes.calm}>
        The token of {visible(made.name)}. It is shown this once{kept && ", and this browser keeps it"}.
      </p>
      <CopyText what="the token">{made.token}</CopyText>
    </div>
  );
}

function Redaction({ view }: { view: SettingsView }) {
  const trial = useTryRedaction();
  const [text, setText] = useState("");
  const redactor = view.settings.find(({ name }) => name === "redact.redactor");
  const kinds = Object.entries(trial.data?.kinds ?? {});
  return (
    <Panel title="Redaction" aside={redactor?.value ? `redactor: ${String(redactor.value)}` : "turned off"}>
      <Textarea
        label="Try a text"
        description="What would be stored of it; the text itself is stored nowhere"
        autosize
        minRows={2}
        maxRows={8}
        maxLength={100_000}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className={classes.row}>
        <Button
          size="compact-sm"
          variant="default"
          disabled={!text}
          loading={trial.isPending}
          onClick={() => trial.mutate(text)}
        >
          Redact it
        </Button>
      </div>
      <div role="status">
        {trial.data && (
          <>
            <Code block>{trial.data.text}</Code>
            <p className={classes.calm}>
              {kinds.length === 0
                ? "Nothing was taken out."
                : `Taken out: ${kinds.map(([kind, number]) => `${number} × ${kind}`).join(", ")}`}
            </p>
          </>
        )}
        {trial.error && <p className={classes.problem}>{trial.error.message}</p>}
      </div>
    </Panel>
  );
}

function About({ view }: { view: SettingsView }) {
  const { prices } = view;
  return (
    <Panel title="About">
      <Facts
        facts={[
          ["version", view.version],
          ["database", view.database === "postgresql" ? "PostgreSQL" : "SQLite, embedded"],
          ["prices", `${prices.source} ${prices.version}: ${count(prices.models)} models; others have no known cost`],
          ["retention", "traces are kept until somebody prunes or erases them; nothing is deleted by itself"],
        ]}
      />
    </Panel>
  );
}

function Everything({ view }: { view: SettingsView }) {
  const [words, setWords] = useState("");
  const [all, setAll] = useState(false);
  const wanted = words.trim().toLowerCase();
  const changed = view.settings.filter(({ origin }) => origin !== "default");
  const found = view.settings.filter(({ name, doc }) => `${name} ${doc}`.toLowerCase().includes(wanted));
  const shown = wanted || all ? found : changed;
  return (
    <div className={classes.wide}>
      <Panel
        title="All settings"
        aside={`${changed.length} of ${view.settings.length} are set; the others have their built-in values`}
      >
        <div className={classes.find}>
          <TextInput
            aria-label="Find a setting"
            placeholder="Find a setting"
            value={words}
            onChange={(event) => setWords(event.currentTarget.value)}
          />
          <Button variant="default" onClick={() => setAll(!all)}>
            {all ? "Show those that are set" : `Show all ${view.settings.length}`}
          </Button>
        </div>
        {shown.length === 0 ? (
          <p className={classes.calm}>{wanted ? "No setting has these words." : "Every value is the built-in one."}</p>
        ) : (
          <Table head={["Setting", "Value", "From"]}>
            {shown.map((one) => (
              <tr key={one.name}>
                <th scope="row">
                  {one.name}
                  <span className={classes.source}>{one.doc.replaceAll("`", "")}</span>
                </th>
                <td className={classes.value}>{visible(valueInWords(one.value))}</td>
                <td>{one.origin === "default" ? "built in" : one.origin}</td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
    </div>
  );
}

function Source({ children }: { children: ReactNode }) {
  return <span className={classes.source}>by {children}</span>;
}

function Table({ head, children }: { head: string[]; children: ReactNode }) {
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>{head.map((name) => (name ? <th key={name}>{name}</th> : <td key="actions" />))}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
