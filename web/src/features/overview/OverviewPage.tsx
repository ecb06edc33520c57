/** The first page: is data coming in, what does it become, what fails, and how much of the traffic is covered. */
import { SegmentedControl } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { count, moment, plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import { AgreementPanel } from "./AgreementPanel";
import { AlertsPanel } from "./AlertsPanel";
import { ChecksPanel } from "./ChecksPanel";
import { CoveragePanel } from "./CoveragePanel";
import { type Overview, useOverview } from "./data";
import { IntakePanel } from "./IntakePanel";
import { KeptOutPanel } from "./KeptOutPanel";
import { Live } from "./Live";
import { olderTraces } from "./older";
import classes from "./overview.module.css";
import { TierStrip } from "./TierStrip";
import { TrafficPanel } from "./TrafficPanel";
import { PERIODS, type Period, USUAL } from "./view";
import { Welcome } from "./Welcome";

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
      lead={<Live asOf={seen.data?.as_of} failed={seen.isError} />}
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
