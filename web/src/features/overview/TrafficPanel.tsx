/** Cost, tokens, latency, errors and checks over time, by model or by name. Every figure leads to its traces. */
import { SegmentedControl, Select } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { timeLabel } from "./buckets";
import { useTraffic } from "./data";
import { TrafficChart } from "./TrafficChart";
import { LABEL, linkOf, type Row, rowsOf, worded } from "./traffic";
import classes from "./traffic.module.css";
import { GROUPINGS, type Grouping, MEASURES, type Measure, type Period } from "./view";

const route = getRouteApi("/");
const BY: Record<Grouping, string> = { model: "Model", name: "Name", time: "Time" };

export function TrafficPanel({ period }: { period: Period }) {
  const { by = "model", measure = "traces" } = route.useSearch();
  const navigate = route.useNavigate();
  const seen = useTraffic(period, by);
  const change = (part: { by?: Grouping; measure?: Measure }) =>
    void navigate({ search: (view) => ({ ...view, ...part }), replace: true, resetScroll: false });
  return (
    <Panel
      title="Traffic"
      aside={
        <div className={classes.choices}>
          <Select
            aria-label="Drawn over time"
            size="xs"
            allowDeselect={false}
            data={MEASURES.map((value) => ({ value, label: LABEL[value] }))}
            value={measure}
            onChange={(value) => change({ measure: value as Measure })}
          />
          <SegmentedControl
            aria-label="Counted by"
            size="xs"
            data={GROUPINGS.map((value) => ({ value, label: BY[value] }))}
            value={by}
            onChange={(value) => change({ by: value as Grouping })}
          />
        </div>
      }
    >
      {seen.isPending ? (
        <Loading what="traffic" rows={4} />
      ) : !seen.data ? (
        <Failed error={seen.error} retry={() => void seen.refetch()} />
      ) : (
        <>
          <TrafficChart seen={seen.data} by={by} measure={measure} />
          <TrafficTable rows={rowsOf(seen.data, by, timeLabel)} by={by} />
        </>
      )}
    </Panel>
  );
}

function TrafficTable({ rows, by }: { rows: Row[]; by: Grouping }) {
  return (
    <section className={classes.scroll} aria-label="Figures of the traffic">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{BY[by]}</th>
            {MEASURES.map((measure) => (
              <th key={measure} scope="col" className={classes.figure}>
                {LABEL[measure].replace("Latency, ", "")}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key} data-sum={row.key === "all" || undefined}>
              <th scope="row" className="eg-clip" title={row.label}>
                {row.label}
              </th>
              {MEASURES.map((measure) => (
                <td key={measure} className={classes.figure}>
                  <Figure row={row} measure={measure} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Figure({ row, measure }: { row: Row; measure: Measure }) {
  const words = worded(row.figures, measure);
  const link = linkOf(row, measure);
  if (link === null || words === "0" || words === "$0" || words === "–") return <span className="eg-dim">{words}</span>;
  return (
    <Link to="/traces" search={link} aria-label={`${row.label}, ${LABEL[measure]}: ${words}`}>
      {words}
    </Link>
  );
}
