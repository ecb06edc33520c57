/** The panels of the overview: what keeps traces out, failing checks, coverage, agreement of reviewers, alerts. */
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMay } from "@/api/access";
import { type Problem, useFixProblem, useProblemCases, useProblems } from "@/features/topics/data";
import { Age } from "@/ui/Age";
import { localMinute } from "@/ui/address";
import { GAPS } from "@/ui/cases";
import { count, moment, plural, share } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import {
  type Alert,
  type AlertLink,
  linkOfAlert,
  type Overview,
  type Period,
  type Reason,
  useAgreement,
  useAlerts,
  useBrokenPlugins,
  useCheckNow,
  useKeptOut,
} from "./data";
import classes from "./overview.module.css";

export function KeptOutPanel({ period }: { period: Period }) {
  const seen = useKeptOut(period);
  if (seen.isPending) return <Loading what="reasons" rows={3} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const { reasons, traces, most } = seen.data;
  if (reasons.length === 0)
    return (
      <p className={classes.calm}>
        Nothing: every trace of this period is a case, by <Link to="/rules">the rules in force</Link>.
      </p>
    );
  return (
    <>
      <ul className={classes.bars}>
        {reasons.map((each) => (
          <li key={each.reason} className={classes.bar}>
            <span className={classes.barName}>{each.reason}</span>
            <span className={classes.barTrack}>
              <span className={classes.barFill} style={{ width: `${(100 * each.traces) / Math.max(1, traces)}%` }} />
            </span>
            <span className={classes.barValue}>
              {count(each.traces)} <span className="eg-dim">· {share(each.traces, traces)}</span>
            </span>
            <span className={classes.change}>
              {Object.entries(each.scores ?? {}).map(([name, number]) => (
                <span key={name}>
                  <Link to="/traces" search={{ score: [`${name}<1`] }}>
                    {name}
                  </Link>{" "}
                  {count(number)} ·{" "}
                </span>
              ))}
              <Change reason={each} />
            </span>
          </li>
        ))}
      </ul>
      <p className={classes.calm}>
        <span title={seen.data.policy}>
          By <Link to="/rules">the rules in force</Link>
        </span>
        , {traces >= most ? `the newest ${count(most)} traces` : "all traces of the period"}.{" "}
        <Link to="/traces">Look at traces</Link>
      </p>
      <Age at={seen.dataUpdatedAt} />
    </>
  );
}

/** The link or button that changes a reason; the server says which. */
function Change({ reason }: { reason: Reason }) {
  const mayEdit = useMay("editor");
  const checkNow = useCheckNow();
  const says = reason.change.charAt(0).toUpperCase() + reason.change.slice(1);
  if (reason.remedy === "check_now")
    return mayEdit ? (
      <Button variant="default" size="compact-xs" loading={checkNow.isPending} onClick={() => checkNow.mutate()}>
        {says}
      </Button>
    ) : (
      says
    );
  if (reason.remedy === "failed_traces")
    return (
      <Link to="/traces" search={{ status: "failed" }}>
        {says}
      </Link>
    );
  if (reason.remedy === "incomplete")
    return (
      <Link to="/traces" search={{ incomplete: ["any"] }}>
        {says}
      </Link>
    );
  if (reason.remedy === "traces") return <Link to="/traces">{says}</Link>;
  return (
    <Link to="/rules" search={reason.remedy === "eligible" ? {} : { part: reason.remedy }}>
      {says}
    </Link>
  );
}

type IncompletePanelProps = { incomplete: Overview["incomplete"]; inPeriod: number; since: string };

/** What traces lack to be evaluated, by what sent them, and what to change there. */
export function IncompletePanel({ incomplete, inPeriod, since }: IncompletePanelProps) {
  if (incomplete.length === 0)
    return <p className={classes.calm}>Nothing: every trace of this period that was looked at is whole.</p>;
  return (
    <ul className={classes.bars}>
      {incomplete.map(({ gap, exporter, traces, change }) => (
        <li key={`${gap} ${exporter}`} className={classes.bar}>
          <span className={classes.barName}>
            <Link to="/traces" search={{ since: localMinute(since), incomplete: [gap], exporter }} className="eg-clip">
              {GAPS[gap]}
            </Link>
            <span className="eg-dim">sent by {visible(exporter)}</span>
          </span>
          <span className={classes.barTrack}>
            <span className={classes.barFill} style={{ width: `${(100 * traces) / Math.max(1, inPeriod)}%` }} />
          </span>
          <span className={classes.barValue}>
            {count(traces)} <span className="eg-dim">· {share(traces, inPeriod)}</span>
          </span>
          <span className={classes.change}>{change.charAt(0).toUpperCase() + change.slice(1)}</span>
        </li>
      ))}
    </ul>
  );
}

const WHOSE: Record<string, string> = { user: "user", human: "reviewer", llm_judge: "model judge" };

type ChecksPanelProps = { checks: Overview["checks"]; since: string };

/** The checks that fail most often, with the share of the times they were made; each leads to its failing traces. */
export function ChecksPanel({ checks, since }: ChecksPanelProps) {
  if (checks.length === 0)
    return <p className={classes.calm}>No score of this period is below the failure threshold.</p>;
  return (
    <ul className={classes.bars}>
      {checks.map((check) => (
        <li key={`${check.source} ${check.name}`} className={classes.bar}>
          <span className={classes.barName}>
            <Link
              to="/traces"
              search={{ since: localMinute(since), score: [`${prefix(check.source)}${check.name}<0.3`] }}
              className="eg-clip"
            >
              {visible(check.name)}
            </Link>
            {WHOSE[check.source] && <span className="eg-dim">{WHOSE[check.source]}</span>}
          </span>
          <span className={classes.barTrack}>
            <span
              className={classes.barFill}
              data-tone="rust"
              style={{ width: `${(100 * check.failing) / check.scored}%` }}
            />
          </span>
          <span className={classes.barValue}>
            {count(check.failing)}{" "}
            <span className="eg-dim">
              of {count(check.scored)} · {share(check.failing, check.scored)}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The source as a condition on scores names it: those of the system need no name. */
function prefix(source: string): string {
  return source === "system" ? "" : `${source}:`;
}

type CoveragePanelProps = { coverage: Overview["coverage"]; inPeriod: number };

/** How much of the period's traffic has a case in each dataset. */
export function CoveragePanel({ coverage, inPeriod }: CoveragePanelProps) {
  if (coverage.length === 0) {
    return (
      <p className={classes.calm}>
        No dataset has a case yet. Traces become cases by <Link to="/rules">the rules in force</Link>, or by hand: open
        a trace and make a case of it.
      </p>
    );
  }
  return (
    <ul className={classes.bars}>
      {coverage.map((part) => (
        <li key={part.dataset} className={classes.bar}>
          <span className={classes.barName}>
            <Link to="/cases" search={{ dataset: part.dataset }} className="eg-clip">
              {visible(part.dataset)}
            </Link>
            <span className="eg-dim">{plural(part.cases, "case")}</span>
          </span>
          <span className={classes.barTrack}>
            <span
              className={classes.barFill}
              style={{ width: inPeriod ? `${Math.min(100, (100 * part.traces) / inPeriod)}%` : 0 }}
            />
          </span>
          <span className={classes.barValue}>
            {share(part.traces, inPeriod)} <span className="eg-dim">· {count(part.traces)} traces</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

const SHOWN = 6;

/** How often reviewers left what a rule decided as it was. */
export function AgreementPanel() {
  const seen = useAgreement();
  if (seen.isPending) return <Loading what="agreement" rows={3} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const { reviewed, disagreed, rules, checks } = seen.data;
  if (reviewed === 0)
    return (
      <p className={classes.calm}>Nobody has reviewed a case that a policy made. Review says how far to trust it.</p>
    );
  const rows = [
    ...rules.map((each) => ({ ...each, kind: "rule" })),
    ...checks.map((each) => ({ ...each, kind: "score" })),
  ].slice(0, SHOWN);
  return (
    <>
      <p className={classes.calm}>
        People disagreed with {count(disagreed)} of {count(reviewed)} decisions.
      </p>
      <Age at={seen.dataUpdatedAt} />
      <ul className={classes.bars}>
        {rows.map((each) => (
          <li key={`${each.kind} ${each.name} ${each.verdict}`} className={classes.bar}>
            <span className={classes.barName}>
              <span>{visible(each.name)}</span>
              <span className="eg-dim">
                {each.kind} → {each.verdict}
              </span>
            </span>
            <span className={classes.barTrack}>
              <span
                className={classes.barFill}
                data-tone="rust"
                style={{ width: `${(100 * (each.agreed.of - each.agreed.hits)) / Math.max(1, each.agreed.of)}%` }}
              />
            </span>
            <span className={classes.barValue}>
              {count(each.agreed.of - each.agreed.hits)}{" "}
              <span className="eg-dim">
                of {count(each.agreed.of)} · {share(each.agreed.of - each.agreed.hits, each.agreed.of)}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** What fires now, what was over lately, and how far each notification is; each alert leads to what is behind it. */
/** Nothing at all while every plug-in works. */
export function PluginsLine() {
  const seen = useBrokenPlugins();
  if (!seen.data?.length) return null;
  return (
    <div className={classes.wide}>
      <Panel title="Plug-ins with problems">
        <ul className={classes.bars}>
          {seen.data.map((plugin) => (
            <li key={`${plugin.group} ${plugin.name}`} className={classes.bar}>
              <span className={classes.barName}>
                <strong>
                  {plugin.group.replace(/s$/, "").replace("_", " ")} {plugin.name}
                </strong>
                <span>{visible(plugin.problem ?? "calls failed and cost their own result")}</span>
              </span>
              <span className={classes.barValue}>{plugin.failed ? plural(plugin.failed, "failure") : ""}</span>
              <span className={classes.change}>
                {plugin.package}: mend or uninstall it.
                {plugin.group === "redactors" && " Nothing is taken in without it."}
              </span>
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}

/** Failures of one reason that recur in a topic, open ones first; fixed ones are not shown. */
export function ProblemsPanel() {
  const seen = useProblems();
  if (seen.isPending) return <Loading what="problems" rows={2} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const open = seen.data.filter((problem) => problem.state !== "fixed");
  return (
    <>
      {open.length === 0 && <p className={classes.calm}>Nothing fails again and again in one topic.</p>}
      <ul className={classes.bars}>
        {open.map((problem) => (
          <ProblemLine key={problem.id} problem={problem} />
        ))}
      </ul>
      <p className={classes.calm}>
        <Link to="/topics">Topics, coverage and gaps</Link>
      </p>
    </>
  );
}

function ProblemLine({ problem }: { problem: Problem }) {
  const fix = useFixProblem();
  const make = useProblemCases();
  const mayReview = useMay("reviewer");
  const mayEdit = useMay("editor");
  const newest = problem.traces[0];
  return (
    <li className={classes.bar}>
      <span className={classes.barName}>
        <strong>{visible(problem.reason)}</strong>{" "}
        <span>
          in {visible(problem.name)}
          {problem.state === "reopened" && ", open again"}
        </span>
      </span>
      <span className={classes.barValue}>
        {count(problem.count)} <span className="eg-dim">· last {moment(problem.last_seen)}</span>
      </span>
      <span className={classes.change}>
        {newest && (
          <Link to="/traces/$traceId" params={{ traceId: newest }} search={{}}>
            Newest trace
          </Link>
        )}{" "}
        {problem.dataset ? (
          <Link to="/cases" search={{ dataset: problem.dataset }}>
            {problem.dataset}
          </Link>
        ) : (
          mayEdit && (
            <Button
              variant="default"
              size="compact-xs"
              loading={make.isPending}
              onClick={() => make.mutate(problem.id)}
            >
              Make regression cases
            </Button>
          )
        )}{" "}
        {mayReview && (
          <Button variant="default" size="compact-xs" loading={fix.isPending} onClick={() => fix.mutate(problem.id)}>
            Fixed
          </Button>
        )}
        {(fix.error ?? make.error) && <Failed error={fix.error ?? make.error} />}
      </span>
    </li>
  );
}

export function AlertsPanel() {
  const seen = useAlerts();
  if (seen.isPending) return <Loading what="alerts" rows={2} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const { alerts, rules, webhook, signed, hint } = seen.data;
  const where = webhook
    ? `Sent to ${webhook}${signed ? ", signed" : ", unsigned"}.`
    : "Written to the log; no webhook is set.";
  return (
    <>
      {rules.length === 0 ? (
        <p className={classes.calm}>
          Nothing is watched yet. <Link to="/settings">Add a rule</Link>
        </p>
      ) : (
        hint && <p className={classes.calm}>No server has looked yet.</p>
      )}
      {rules.length > 0 && alerts.length === 0 && <p className={classes.calm}>Nothing fires.</p>}
      <ul className={classes.bars}>
        {alerts.map((alert) => (
          <AlertLine
            key={alert.id}
            alert={alert}
            mutedUntil={rules.find(({ name }) => name === alert.rule)?.muted_until}
          />
        ))}
      </ul>
      {rules.length > 0 && <p className={classes.calm}>{where}</p>}
      <Age at={seen.dataUpdatedAt} />
    </>
  );
}

function AlertLine({ alert, mutedUntil }: { alert: Alert; mutedUntil: string | null | undefined }) {
  const muted = mutedUntil && !alert.resolved_at ? `Muted until ${moment(mutedUntil)}` : "";
  const words = [muted, notified(alert)].filter(Boolean);
  return (
    <li className={classes.bar}>
      <span className={classes.barName}>
        <strong>{alert.resolved_at ? "Over" : muted ? "Muted" : "Firing"}</strong>
        <span>
          {visible(alert.text)}. <Behind link={linkOfAlert(alert)} rule={alert.rule} />
        </span>
      </span>
      <span className={classes.barValue}>{moment(alert.opened_at)}</span>
      {words.length > 0 && <span className={classes.change}>{words.join(". ")}</span>}
    </li>
  );
}

function Behind({ link, rule }: { link: AlertLink; rule: string }) {
  const named = { "aria-label": `${link.label}: ${rule}`, children: link.label };
  if (link.to === "/traces") return <Link to="/traces" search={link.search} {...named} />;
  if (link.to === "/cases") return <Link to="/cases" search={link.search} {...named} />;
  return <Link to="/benchmarks" search={link.search} {...named} />;
}

function notified(alert: Alert): string {
  const last = alert.deliveries?.[0];
  if (!last) return "";
  if (last.status === "sent") return "Notification sent";
  if (last.status === "given_up") return `Notification given up after ${last.tries} tries: ${last.error}`;
  return last.error ? `Notification waits, tried ${last.tries} times: ${last.error}` : "Notification waits";
}
