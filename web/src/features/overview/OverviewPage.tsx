/** The first page: is data coming in, what does it become, what fails, and how much of the traffic is covered. */
import { SegmentedControl } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useAge } from "@/ui/Age";
import { localMinute } from "@/ui/address";
import { Beginning, Snippets } from "@/ui/Beginning";
import { Tier } from "@/ui/cases";
import { count, moment, plural, share } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import { type Overview, olderTraces, PERIODS, type Period, USUAL, useOverview } from "./data";
import classes from "./overview.module.css";
import {
  AgreementPanel,
  AlertsPanel,
  ChecksPanel,
  CoveragePanel,
  IncompletePanel,
  KeptOutPanel,
  PluginsLine,
} from "./panels";
import { IntakePanel, TrafficPanel } from "./TrafficPanel";

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
        <Numbers seen={seen.data} period={period} />
      )}
    </Page>
  );
}

function Numbers({ seen, period }: { seen: Overview; period: Period }) {
  return (
    <div className={classes.grid}>
      <OlderLine seen={seen} period={period} />
      <PluginsLine />
      <div className={classes.wide}>
        <TierStrip seen={seen} />
      </div>
      <div className={classes.wide}>
        <Panel title="Intake and what it became" aside={`${plural(seen.traces, "trace")} in all`}>
          {seen.in_period > 0 ? <IntakePanel seen={seen} /> : <Quiet newest={seen.newest} />}
        </Panel>
      </div>
      <div className={classes.wide}>
        <TrafficPanel period={period} />
      </div>
      <div className={classes.wide}>
        <Panel title="What keeps traces out of the golden set">
          <KeptOutPanel period={period} />
        </Panel>
      </div>
      <div className={classes.wide}>
        <Panel title="Traces that are incomplete">
          <IncompletePanel incomplete={seen.incomplete} inPeriod={seen.in_period} since={seen.since} />
        </Panel>
      </div>
      <Panel title="Checks that fail most">
        <ChecksPanel checks={seen.checks} since={seen.since} />
      </Panel>
      <Panel title="Traffic covered by dataset">
        <CoveragePanel coverage={seen.coverage} inPeriod={seen.in_period} />
      </Panel>
      <Panel title="Where people disagreed">
        <AgreementPanel />
      </Panel>
      <Panel title="Alerts">
        <AlertsPanel />
      </Panel>
    </div>
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

const TIERS = ["confirmed", "candidate", "failure", "correction"] as const;
const LABEL = {
  confirmed: "Golden, confirmed",
  candidate: "Golden candidates",
  failure: "Failures",
  correction: "Corrections",
};

/** The four kinds of case as numbers that lead to their list, and one bar of their shares of the traffic. */
function TierStrip({ seen }: { seen: Overview }) {
  return (
    <section className={classes.strip} aria-label="Cases of the period by worth">
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
  const since = time ? `; these numbers are from ${time}${old ? `, ${old} ago` : ""}` : "";
  return (
    <span className={classes.live} data-failed={late || undefined}>
      {late ? `Not renewed${since || "; nobody knows how old these numbers are"}` : `Live${time && `, as of ${time}`}`}
    </span>
  );
}

/** What a newcomer sees before the first trace: two ways to begin, each of which begins right here. */
function Welcome() {
  return (
    <div className={classes.welcome}>
      <h2>Nothing has come in yet. Two ways to begin:</h2>
      <ol className={classes.ways}>
        <li>
          <h3>From a file of traces, or with sample data</h3>
          <Beginning of="traces" sample />
        </li>
        <li>
          <h3>From your app</h3>
          <p>Add this where the app starts. Its next answer shows up here by itself.</p>
          <Snippets />
        </li>
      </ol>
    </div>
  );
}
