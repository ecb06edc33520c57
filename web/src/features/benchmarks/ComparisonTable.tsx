/** One run against another, metric by metric. A number never stands without its interval and how many cases it rests on. */
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { count } from "@/ui/format";
import type { Asked } from "./data";
import classes from "./tables.module.css";
import { decimals } from "./words";

type MetricComparison = Schemas["MetricComparison"];
const SHOWN = 4;

type TableProps = {
  metrics: readonly MetricComparison[];
  asked: Record<string, Asked>;
  open: (caseId: string) => void;
};

export function ComparisonTable({ metrics, asked, open }: TableProps) {
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th>Metric</th>
            <th>Verdict</th>
            <th className={classes.number}>Baseline</th>
            <th className={classes.number}>Run</th>
            <th className={classes.number}>Difference (95 %)</th>
            <th className={classes.number}>p</th>
            <th className={classes.number}>Cases</th>
            <th>Now pass</th>
            <th>Now fail</th>
          </tr>
        </thead>
        <tbody>
          {metrics.map((metric) => (
            <tr key={metric.metric}>
              <td>{metric.metric}</td>
              <td data-verdict={metric.verdict} title={metric.test}>
                {metric.verdict}
                {metric.verdict === "inconclusive" && typeof metric.smallest_visible === "number" && (
                  <span className={classes.under}>
                    too few cases to see less than {decimals(metric.smallest_visible)}
                  </span>
                )}
              </td>
              <td className={classes.number}>{decimals(metric.first)}</td>
              <td className={classes.number}>{decimals(metric.second)}</td>
              <td className={classes.number}>
                <strong>
                  {metric.difference > 0 ? "+" : ""}
                  {decimals(metric.difference)}
                </strong>{" "}
                <span className={classes.dim}>
                  [{decimals(metric.low)}, {decimals(metric.high)}]
                </span>
              </td>
              <td className={classes.number}>{metric.p < 0.001 ? "<0.001" : decimals(metric.p)}</td>
              <td className={classes.number}>
                {count(metric.n)}
                {metric.unpaired > 0 && <span className={classes.under}>{count(metric.unpaired)} not in both</span>}
              </td>
              <td>
                <Flips open={open} asked={asked} cases={metric.gained} />
              </td>
              <td>
                <Flips open={open} asked={asked} cases={metric.lost} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The tasks that changed sides, each a way to its answers side by side; many are folded. */
function Flips({ open, cases, asked }: Pick<TableProps, "open" | "asked"> & { cases: readonly string[] }) {
  const [all, setAll] = useState(false);
  if (cases.length === 0) return <span className={classes.dim}>none</span>;
  const shown = all ? cases : cases.slice(0, SHOWN);
  return (
    <ul className={classes.flips}>
      {shown.map((id) => (
        <li key={id}>
          <button type="button" className={classes.link} title={id} dir="auto" onClick={() => open(id)}>
            {asked[id]?.question ?? id}
          </button>
        </li>
      ))}
      {shown.length < cases.length && (
        <li>
          <button type="button" className={classes.link} onClick={() => setAll(true)}>
            and {count(cases.length - shown.length)} more
          </button>
        </li>
      )}
    </ul>
  );
}
