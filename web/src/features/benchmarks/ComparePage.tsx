/** Two or more runs over the same cases: differences with their intervals, and the tasks that flipped. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import classes from "./benchmarks.module.css";
import { useComparisons } from "./data";
import { decimals } from "./words";

const route = getRouteApi("/benchmarks/compare");

export function ComparePage() {
  const { runs } = route.useSearch();
  const [first, ...others] = runs;
  const found = useComparisons(first, others);
  return (
    <Page title="Compare" lead={<Link to="/benchmarks">Benchmarks</Link>}>
      {others.length === 0 && <Empty title="Tick two runs or more to compare them" />}
      {found.map((each, index) => (
        <Panel key={others[index]} title={`${others[index]} against ${first}`} flush>
          {each.isPending && <Loading what="comparison" rows={3} />}
          {each.isError && <Failed error={each.error} />}
          {each.data && (
            <>
              {each.data.warnings.map((warning) => (
                <p key={warning} className={classes.problem}>
                  {warning}
                </p>
              ))}
              <div className={classes.scroll}>
                <table className={classes.table}>
                  <thead>
                    <tr>
                      <th>Metric</th>
                      <th className={classes.number}>First</th>
                      <th className={classes.number}>Second</th>
                      <th className={classes.number}>Difference (95 %)</th>
                      <th className={classes.number}>p</th>
                      <th>Verdict</th>
                      <th>Won</th>
                      <th>Lost</th>
                    </tr>
                  </thead>
                  <tbody>
                    {each.data.metrics.map((metric) => (
                      <tr key={metric.metric}>
                        <td>{metric.metric}</td>
                        <td className={classes.number}>{decimals(metric.first)}</td>
                        <td className={classes.number}>{decimals(metric.second)}</td>
                        <td className={classes.number}>
                          {metric.difference > 0 ? "+" : ""}
                          {decimals(metric.difference)} [{decimals(metric.low)}, {decimals(metric.high)}]
                        </td>
                        <td className={classes.number}>{decimals(metric.p)}</td>
                        <td>{metric.verdict}</td>
                        <td className={classes.wrap}>{metric.gained.join(", ") || "none"}</td>
                        <td className={classes.wrap}>{metric.lost.join(", ") || "none"}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </>
          )}
        </Panel>
      ))}
    </Page>
  );
}
