/** Quality, errors, cost and latency of candidates beside the baseline: a table whose one column is a forest plot. */
import { Fragment, useMemo } from "react";
import classes from "./compare.module.css";
import type { Comparison } from "./data";
import { type ForestRow, forestRows, limitOf, ratioLimitOf } from "./forestRows";

type ForestProps = { compared: readonly Comparison[]; names: ReadonlyMap<string, string> };

export function Forest({ compared, names }: ForestProps) {
  const rows = useMemo(() => forestRows(compared, names), [compared, names]);
  const several = compared.length > 1;
  const limit = limitOf(compared);
  const ratio = ratioLimitOf(compared);
  const plotted = rows.some(({ kind, place }) => kind === "ratio" && place !== null);
  return (
    <table className={classes.forest}>
      <thead>
        <tr>
          <th>Measure</th>
          <th className={classes.number}>Baseline</th>
          <th className={classes.number}>{several ? "Run" : "Candidate"}</th>
          <th className={classes.plot}>
            <span className={classes.axis}>
              <span>← worse</span>
              <span>better →</span>
            </span>
          </th>
          <th className={classes.number}>Difference (95 %)</th>
          <th>Verdict</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <Fragment key={`${row.measure} ${row.candidate}`}>
            <tr data-verdict={row.tone} data-kind={row.kind}>
              <th scope="row" className={classes.measure}>
                {row.measure}
                {several && <span className={classes.under}>{row.candidate}</span>}
                <span className={classes.under}>{row.note}</span>
              </th>
              <td className={classes.number} data-label="Baseline" data-column="first">
                {row.first}
              </td>
              <td className={classes.number} data-label={several ? "Run" : "Candidate"} data-column="second">
                {row.second}
              </td>
              <td className={classes.plot}>{row.place !== null && <Interval row={row} />}</td>
              <td className={classes.number} data-column="difference">
                <strong>{row.words}</strong>
                {row.interval && <span className={classes.under}>{row.interval}</span>}
              </td>
              <td className={classes.word} data-unknown={row.verdict === "unknown" || undefined}>
                {row.verdict}
              </td>
            </tr>
            {onDifferences(row) && !onDifferences(rows[index + 1]) && (
              <Axis left={`−${limit}`} middle="0" right={`+${limit}`} />
            )}
            {row.kind === "ratio" && plotted && index === rows.length - 1 && (
              <Axis left={`×${ratio}`} middle="equal" right={`×${Number((1 / ratio).toPrecision(2))}`} />
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

const onDifferences = (row: ForestRow | undefined) => row !== undefined && row.kind !== "ratio" && row.place !== null;

/** A dot and its interval around the line of no difference. The numbers stand in the cells beside it. */
function Interval({ row: { place, low, high, band } }: { row: ForestRow }) {
  const at = (value: number) => `${50 + 47 * Math.min(1, Math.max(-1, value))}%`;
  return (
    <svg className={classes.interval} aria-hidden="true">
      {band > 0 && <rect className={classes.band} x={at(-band)} width={`${94 * band}%`} y="0" height="100%" />}
      <line className={classes.zero} x1="50%" x2="50%" y1="0" y2="100%" />
      {low !== null && high !== null && (
        <g className={classes.whisker}>
          <line x1={at(low)} x2={at(high)} y1="50%" y2="50%" />
          <line x1={at(low)} x2={at(low)} y1="32%" y2="68%" />
          <line x1={at(high)} x2={at(high)} y1="32%" y2="68%" />
        </g>
      )}
      <circle className={classes.dot} cx={at(place ?? 0)} cy="50%" r="6" />
    </svg>
  );
}

function Axis({ left, middle, right }: { left: string; middle: string; right: string }) {
  return (
    <tr className={classes.scale}>
      <td colSpan={3} />
      <td className={classes.plot}>
        <span className={classes.axis}>
          <span>{left}</span>
          <span>{middle}</span>
          <span>{right}</span>
        </span>
      </td>
      <td colSpan={2} />
    </tr>
  );
}
