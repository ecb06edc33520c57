/** The first page: is data coming in, what does it become, what fails, and how much of the traffic is covered. */
import { SegmentedControl } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useAge } from "@/ui/Age";
import { localMinute } from "@/ui/address";
import { Tier } from "@/ui/cases";
import { count, moment, plural, share } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import { type Overview, olderTraces, PERIODS, type Period, USUAL, useOverview, useWaiting } from "./data";
import classes from "./overview.module.css";
import {
  AgreementPanel,
  AlertsPanel,
  ChecksPanel,
  CoveragePanel,
  IncompletePanel,
  KeptOutPanel,
  PluginsLine,
  ProblemsPanel,
} from "./panels";
import { IntakePanel, QualityPanel, TrafficPanel } from "./TrafficPanel";
import { FirstSteps, Welcome } from "./Welcome";

const route = getRouteApi("/");
const WORDS: Record<Period, string> = { "24h": "24 h", "7d": "7 d", "30d": "30 d", "90d": "90 d", "365d": "1 y" };

export function OverviewPage() {
  const { period = USUAL } = route.useSearch();
  const navigate = route.useNavigate();
  const seen = useOverview(period);
  const empty = seen.data?.traces === 0 && seen.data.coverage.length === 0;

  return (
    <Page
      title="Overview"
      lead={<Live seen={seen.data} at={seen.dataUpdatedAt} failed={seen.isError} />}
      actions={
        !empty && (
          <SegmentedControl
            aria-label="Period"
            data={PERIODS.map((value) => ({ value, label: WORDS[value] }))}
            value={period}
            onChange={(value) =>
              void navigate({ search: (view) => ({ ...view, period: value as Period }), replace: true })
            }
          />
        )
      }
    >
      {seen.isPending ? (
        <Loading what="overview" />
      ) : !seen.data ? (
        <Failed error={seen.error} retry={() => void seen.refetch()} />
      ) : empty ? (
        <Welcome />
      ) : (
        <>
          <FirstSteps />
          <Numbers seen={seen.data} period={period} />
        </>
      )}
    </Page>
  );
}

function Numbers({ seen, period }: { seen: Overview; period: Period }) {
  return (
    <div className={classes.grid}>
      <OlderLine seen={seen} period={period} />
      <PluginsLine />
      <Question>What came in, and is it healthy?</Question>
      <div className={classes.wide}>
        <TrafficPanel period={period} />
      </div>
      <div className={classes.wide}>
        <QualityPanel seen={seen} period={period} />
      </div>
      <Panel title="Checks that fail most">
        <ChecksPanel checks={seen.checks} since={seen.since} />
      </Panel>
      <Panel title="Alerts">
        <AlertsPanel />
      </Panel>
      <Question>What became of it?</Question>
      <div className={classes.wide}>
        <TierStrip seen={seen} />
        <p className={classes.counted}>
          These are traces of this period, each counted once. A type opens all of its cases, those of other periods and
          datasets too.
        </p>
      </div>
      <div className={classes.wide}>
        <Panel title="Intake and what it became" aside={`${plural(seen.traces, "trace")} in all`}>
          {seen.in_period > 0 ? <IntakePanel seen={seen} /> : <Quiet newest={seen.newest} />}
        </Panel>
      </div>
      <Panel title="What keeps traces out of the golden set">
        <KeptOutPanel period={period} />
      </Panel>
      <Panel title="Traces that are incomplete">
        <IncompletePanel incomplete={seen.incomplete} inPeriod={seen.in_period} since={seen.since} />
      </Panel>
      <Question>What should I do now?</Question>
      <div className={classes.wide}>
        <Actions seen={seen} />
      </div>
      <div className={classes.wide}>
        <Panel title="Problems that recur">
          <ProblemsPanel />
        </Panel>
      </div>
      <Question>How is my set against my traffic?</Question>
      <Panel title="Traffic covered by dataset">
        <CoveragePanel coverage={seen.coverage} inPeriod={seen.in_period} />
      </Panel>
      <Panel title="Where people disagreed">
        <AgreementPanel />
      </Panel>
    </div>
  );
}

function Question({ children }: { children: string }) {
  return <h2 className={classes.question}>{children}</h2>;
}

/** What waits for somebody, with how much of it: the three that come first. */
function Actions({ seen }: { seen: Overview }) {
  const { waiting, disputed, problems } = useWaiting();
  const incomplete = seen.incomplete.reduce((sum, each) => sum + each.traces, 0);
  const all = [
    { to: "/review", search: { standing: "disputed" }, number: disputed, does: "Settle disputed cases" },
    { to: "/review", search: { order: "value" }, number: waiting, does: "Review cases that wait" },
    { to: "/topics", search: {}, number: problems, does: "Fix problems that recur" },
    { to: "/traces", search: { incomplete: ["any"] }, number: incomplete, does: "Complete what traces lack" },
    {
      to: "/cases",
      search: { tier: "failure" },
      number: seen.tiers.failure ?? 0,
      does: "Give failures the right answer",
    },
    { to: "/datasets", search: {}, number: seen.coverage.length, does: "Freeze a version of a dataset" },
  ] as const;
  const now = all.filter(({ number }) => number > 0).slice(0, 3);
  return (
    <nav className={classes.strip} aria-label="What to do now" data-few>
      {now.map(({ to, search, number, does }) => (
        <Link key={does} to={to} search={search as never} className={classes.figure}>
          <span className={classes.number}>{count(number)}</span>
          <span>{does} →</span>
        </Link>
      ))}
    </nav>
  );
}

/** Imported logs are often older than the usual period: without this line they seem to be lost. */
function OlderLine({ seen, period }: { seen: Overview; period: Period }) {
  const older = olderTraces(seen, period);
  if (older === null) return null;
  return (
    <p className={classes.older}>
      {count(older.hidden)} of {plural(seen.traces, "trace")} began before this period.{" "}
      {older.period ? (
        <Link to="/" search={(view) => ({ ...view, period: older.period })}>
          Show all of them: {WORDS[older.period]}
        </Link>
      ) : (
        <>
          <Link to="/traces">All traces</Link> and <Link to="/cases">all cases</Link> show them, too.
        </>
      )}
    </p>
  );
}

function Quiet({ newest }: { newest: string | null }) {
  return (
    <Empty title="Nothing came in during this period">
      {newest
        ? `The newest trace is from ${moment(newest)}. Choose a longer period to see it.`
        : "There are no traces yet."}
    </Empty>
  );
}

const TIERS = ["confirmed", "unconfirmed", "candidate", "failure", "correction"] as const;
const LABEL = {
  confirmed: "Golden, confirmed",
  unconfirmed: "Golden, unconfirmed",
  candidate: "Candidates",
  failure: "Failures",
  correction: "Corrections",
};

/** The four kinds of case as numbers that lead to their list, and one bar of their shares of the traffic. */
function TierStrip({ seen }: { seen: Overview }) {
  return (
    <section className={classes.strip} aria-label="Cases of the period by type">
      {TIERS.map((tier) => (
        <Link key={tier} to="/cases" search={{ tier }} className={classes.figure}>
          <Tier tier={tier} label={LABEL[tier]} />
          <span className={classes.number}>{count(seen.tiers[tier] ?? 0)}</span>
          <span className={classes.share}>{share(seen.tiers[tier] ?? 0, seen.in_period)} of traces</span>
        </Link>
      ))}
      <Link to="/traces" search={{ since: localMinute(seen.since) }} className={classes.figure}>
        <Tier tier="none" label="Traces" />
        <span className={classes.number}>{count(seen.in_period)}</span>
        <span className={classes.share}>in this period</span>
      </Link>
    </section>
  );
}

/** Says that the page renews itself, or how old its figures are because it could not. */
function Live({ seen, at, failed }: { seen: Overview | undefined; at: number; failed: boolean }) {
  const old = useAge(seen?.age, at);
  const time = seen?.as_of ? new Date(seen.as_of).toLocaleTimeString("en-GB") : "";
  const late = failed || old !== null || (seen !== undefined && !seen.as_of);
  if (!seen && !failed) return null; // nothing was counted yet that could be old
  const since = time ? `; these numbers are from ${time}${old ? `, ${old} ago` : ""}` : "";
  return (
    <span className={classes.live} data-failed={late || undefined}>
      {late ? `Not renewed${since || "; nobody knows how old these numbers are"}` : `Live${time && `, as of ${time}`}`}
    </span>
  );
}
