/** Bars, lines and points, drawn as SVG in the colours of the page. Each series has its name beside it, so that nobody looks a colour up. */
import { useElementSize } from "@mantine/hooks";
import { type MouseEvent, type ReactNode, useState } from "react";
import classes from "./Chart.module.css";

export type Colour = "gold" | "gold-soft" | "sea" | "rust" | "mute" | "ink" | "line-strong" | "surface";
export const HUES: readonly Colour[] = ["gold", "sea", "rust", "gold-soft", "mute", "ink", "line-strong"];

export type Series = {
  name: string;
  /** The name where there is little room. */
  short?: string;
  colour: Colour;
  /** A value for each place on the axis; null where nothing was observed. */
  values: readonly (number | null | undefined)[];
  dashed?: boolean;
  opacity?: number;
};

type ChartProps = {
  /** What it shows, in words, for those who cannot see it. */
  label: string;
  height: number;
  kind: "stacked" | "bars" | "lines";
  names: readonly string[];
  /** Where the names lie on the axis, if not side by side. */
  places?: readonly number[];
  series: readonly Series[];
  /** The end of the axis of values, if it is not the largest value. */
  most?: number;
  format?: (value: number) => string;
  /** What stands in the box under the pointer for a missing value. */
  missing?: string;
  /** Called with the place and the series of what was clicked. */
  onSelect?: (index: number, series: number) => void;
};

const NARROW_PX = 560;
const CHARACTER_PX = 6.6;
const NAME_PX = 17;
const TOP_PX = 10;
const BELOW_PX = 24;
const BOX_PX = 210;
const EDGE_PX = 36;

export function Chart({
  label,
  height,
  kind,
  names,
  places,
  series,
  most,
  format = plain,
  missing,
  onSelect,
}: ChartProps) {
  const [pointed, point] = useState<number | null>(null);
  const highest = names.map((_, index) => {
    const values = series.map(({ values }) => values[index] ?? 0);
    return kind === "stacked" ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  });
  const ticks = ticksTo(most ?? Math.max(0, ...highest), most === undefined && highest.every(Number.isInteger));
  const { ref, plot } = usePlot(height, ticks, format, series.length > 1);
  const start = Math.min(...(places ?? [0]));
  const reach = Math.max(...(places ?? [1])) - start || 1;
  const slot = plot.width / Math.max(1, names.length);
  const x = (index: number) =>
    places
      ? plot.left + EDGE_PX + ((plot.width - 2 * EDGE_PX) * ((places[index] ?? start) - start)) / reach
      : plot.left + slot * (index + 0.5);
  const parts = (index: number) => partsAt(series, index, kind);
  const nearest = ({ clientX, currentTarget }: MouseEvent) => {
    const at = clientX - currentTarget.getBoundingClientRect().left;
    const distances = names.map((_, index) => Math.abs(x(index) - at));
    return at < plot.left || at > plot.left + plot.width ? null : distances.indexOf(Math.min(...distances));
  };
  const width = Math.min(34, slot * 0.72) / (kind === "bars" ? series.length : 1);
  const left = (index: number, row: number) =>
    x(index) - (kind === "bars" ? (series.length / 2 - row) * width : width / 2);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: tables beside the charts hold the same links for the keyboard
    <div
      ref={ref}
      role="img"
      aria-label={label}
      className={classes.chart}
      style={{ height, cursor: onSelect && pointed !== null ? "pointer" : undefined }}
      onMouseMove={(event) => point(nearest(event))}
      onMouseLeave={() => point(null)}
      onClick={(event) => {
        const index = nearest(event);
        const y = event.clientY - event.currentTarget.getBoundingClientRect().top;
        const row = index === null ? -1 : rowAt(parts(index), plot.toValue(y), kind);
        if (index !== null && row >= 0) onSelect?.(index, row);
      }}
    >
      <Axes plot={plot} ticks={ticks} format={format} below={names.map((name, index) => ({ name, x: x(index) }))}>
        {pointed !== null && kind !== "lines" && (
          <rect className={classes.pointed} x={x(pointed) - slot / 2} y={TOP_PX} width={slot} height={plot.height} />
        )}
        {kind !== "lines" &&
          names.flatMap((name, index) =>
            parts(index).map((part, row) => {
              const { name: of, colour, dashed, opacity } = series[row] as Series;
              if (!part || part.to === part.from) return null;
              const top = plot.y(part.to);
              return (
                <rect
                  key={`${name} ${of}`}
                  data-bar={of}
                  x={left(index, row)}
                  y={top}
                  width={width}
                  height={Math.max(1, plot.y(part.from) - top)}
                  fill={paint(colour)}
                  opacity={opacity}
                  stroke={dashed ? paint("gold") : undefined}
                  strokeDasharray={dashed ? "3 2" : undefined}
                />
              );
            }),
          )}
        {kind === "lines" &&
          series.map(({ name, colour, values, dashed, opacity }) => {
            const runs = runsOf(values, Boolean(places));
            return (
              <g key={name} opacity={opacity}>
                {runs.map((run) => (
                  <polyline
                    key={run[0]?.index}
                    points={run.map(({ index, value }) => `${x(index)},${plot.y(value)}`).join(" ")}
                    fill="none"
                    stroke={paint(colour)}
                    strokeWidth={2}
                    strokeDasharray={dashed ? "6 4" : undefined}
                  />
                ))}
                {runs.flat().map(({ index, value }) => (
                  <circle
                    key={index}
                    cx={x(index)}
                    cy={plot.y(value)}
                    r={names.length > 60 ? 1.5 : 3}
                    fill={paint(colour)}
                  />
                ))}
              </g>
            );
          })}
        {series.length > 1 && <Names series={series} kind={kind} plot={plot} />}
      </Axes>
      {pointed !== null && (
        <div
          className={classes.box}
          style={{ left: Math.max(0, Math.min(x(pointed) + 12, plot.left + plot.width - BOX_PX)), maxWidth: BOX_PX }}
        >
          <strong>{names[pointed]}</strong>
          {series.map(({ name, colour, values, dashed }) => {
            const value = values[pointed];
            return (
              <span key={name}>
                <i style={{ background: paint(colour), outline: dashed ? `1px dashed ${paint("gold")}` : undefined }} />
                {name} <b>{typeof value === "number" ? format(value) : (missing ?? "–")}</b>
              </span>
            );
          })}
        </div>
      )}
    </div>
  );
}

/** The names of the series, at the ends of lines or as a list in the order of the stack. */
function Names({ series, kind, plot }: Pick<ChartProps, "series" | "kind"> & { plot: Plot }) {
  const last = series.map(({ values }) => values.findLast((value) => typeof value === "number") ?? null);
  const shown = series.map((one, row) => ({ ...one, row })).filter(({ row }) => kind !== "lines" || last[row] !== null);
  const raises = labelRaises(last, (NAME_PX * plot.most) / plot.height);
  const length = Math.floor((plot.beside - 22) / CHARACTER_PX);
  return shown.map(({ name, short, colour, dashed, opacity, row }, place) => {
    const y =
      kind === "lines" ? plot.y((last[row] ?? 0) + (raises[row] ?? 0)) : TOP_PX + plot.height - NAME_PX * (place + 0.6);
    const text = name.length > length && short ? short : name;
    return (
      <g key={name} transform={`translate(${plot.left + plot.width + 10} ${Math.max(TOP_PX, y)})`}>
        <title>{name}</title>
        <rect
          y={-5}
          width={10}
          height={10}
          rx={2}
          fill={paint(colour)}
          opacity={opacity}
          stroke={dashed && kind !== "lines" ? paint("gold") : undefined}
          strokeDasharray={dashed ? "3 2" : undefined}
        />
        <text x={15} dy="0.35em">
          {cut(text, length)}
        </text>
      </g>
    );
  });
}

type Point = { name: string; x: number; y: number };
type ScatterProps = {
  label: string;
  height: number;
  points: readonly Point[];
  /** The end of the upright axis. */
  most: number;
  format: (value: number) => string;
  describe: (point: Point) => string;
};

/** Named points on two axes that begin at nothing. */
export function Scatter({ label, height, points, most, format, describe }: ScatterProps) {
  const ticks = ticksTo(most);
  const { ref, plot } = usePlot(height, ticks, plain, false);
  const across = ticksTo(Math.max(...points.map(({ x }) => x)));
  const far = across.at(-1) ?? 1;
  const x = (value: number) => plot.left + ((plot.width - 16) * value) / far;
  const raises = labelRaises(
    points.map(({ y }) => y),
    (NAME_PX * plot.most) / plot.height,
  );
  return (
    <div ref={ref} role="img" aria-label={label} className={classes.chart} style={{ height }}>
      <Axes
        plot={plot}
        ticks={ticks}
        format={plain}
        below={across.map((value) => ({ name: format(value), x: x(value) }))}
      >
        {points.map((point, index) => {
          const behind = point.x > far / 2;
          return (
            <g key={point.name}>
              <title>{describe(point)}</title>
              <circle cx={x(point.x)} cy={plot.y(point.y)} r={6} fill={paint("gold")} />
              <text
                x={x(point.x) + (behind ? -11 : 11)}
                y={Math.max(TOP_PX, plot.y(point.y + (raises[index] ?? 0)))}
                dy="0.35em"
                textAnchor={behind ? "end" : "start"}
              >
                {cut(point.name, Math.max(8, Math.floor(plot.width / 2 / CHARACTER_PX) - 4))}
              </text>
            </g>
          );
        })}
      </Axes>
    </div>
  );
}

type Pair = { name: string; colour: Colour; values: readonly number[] };

/** Bars that lie beside their names, for few names of any length; the values are written out. */
export function LyingBars({
  label,
  names,
  series,
}: {
  label: string;
  names: readonly string[];
  series: readonly Pair[];
}) {
  const most = Math.max(1e-9, ...series.flatMap(({ values }) => values));
  return (
    <table className={classes.lying} aria-label={label}>
      <colgroup>
        <col className={classes.names} />
        <col />
        <col className={classes.figures} />
      </colgroup>
      <thead>
        <tr>
          <td />
          <th scope="col" colSpan={2}>
            {series.map(({ name, colour }) => (
              <span key={name}>
                <i style={{ background: paint(colour) }} /> {name}
              </span>
            ))}
          </th>
        </tr>
      </thead>
      <tbody>
        {names.map((name, index) => (
          <tr key={name}>
            <th scope="row" className="eg-clip" title={name}>
              {name}
            </th>
            <td className={classes.lanes}>
              {series.map(({ name: of, colour, values }) => (
                <i key={of} style={{ background: paint(colour), width: `${(100 * (values[index] ?? 0)) / most}%` }} />
              ))}
            </td>
            <td>{series.map(({ values }) => plain(values[index] ?? 0)).join(" → ")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type Plot = {
  left: number;
  width: number;
  height: number;
  /** The room for names on the right. */
  beside: number;
  /** The value at the upper end. */
  most: number;
  y: (value: number) => number;
  toValue: (y: number) => number;
};

/** Where a chart of a height is drawn in the width that the page has. */
function usePlot(height: number, ticks: readonly number[], format: (value: number) => string, named: boolean) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  const left = 12 + CHARACTER_PX * Math.max(...ticks.map((value) => format(value).length));
  const beside = !named ? 12 : width < NARROW_PX ? 104 : 168;
  const inner = height - TOP_PX - BELOW_PX;
  const end = ticks.at(-1) ?? 1;
  const plot: Plot = {
    left,
    width: Math.max(10, width - left - beside),
    height: inner,
    beside,
    most: end,
    y: (value) => TOP_PX + inner * (1 - value / end),
    toValue: (y) => end * (1 - (y - TOP_PX) / inner),
  };
  return { ref, plot };
}

type AxesProps = {
  plot: Plot;
  ticks: readonly number[];
  format: (value: number) => string;
  below: readonly { name: string; x: number }[];
  children: ReactNode;
};

/** Lines and figures of the upright axis, and as many names below as have room. */
function Axes({ plot, ticks, format, below, children }: AxesProps) {
  const longest = Math.max(1, ...below.map(({ name }) => name.length)) * CHARACTER_PX + 14;
  const ordered = below.toSorted((one, other) => one.x - other.x);
  let free = Number.NEGATIVE_INFINITY;
  const shown = ordered.filter(({ x }) => {
    if (x < free) return false;
    free = x + longest;
    return true;
  });
  return (
    <svg width="100%" height="100%" aria-hidden="true">
      {ticks.map((value) => (
        <g key={value}>
          <line
            className={classes.line}
            x1={plot.left}
            x2={plot.left + plot.width}
            y1={plot.y(value)}
            y2={plot.y(value)}
          />
          <text x={plot.left - 7} y={plot.y(value)} dy="0.35em" textAnchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      {shown.map(({ name, x }) => (
        <text key={`${name} ${x}`} x={x} y={TOP_PX + plot.height + 17} textAnchor="middle">
          {name}
        </text>
      ))}
      {children}
    </svg>
  );
}

/** From where to where each series is drawn at one place of the axis. */
function partsAt(series: readonly Series[], index: number, kind: ChartProps["kind"]) {
  let below = 0;
  return series.map(({ values }) => {
    const value = values[index];
    if (typeof value !== "number") return null;
    const from = kind === "stacked" ? below : 0;
    below += value;
    return { from, to: from + value };
  });
}

/** The stretches of a line; where nothing was observed it is broken, unless it only passes other lines' places. */
function runsOf(values: Series["values"], passes: boolean) {
  const runs: { index: number; value: number }[][] = [[]];
  values.forEach((value, index) => {
    if (typeof value === "number") runs.at(-1)?.push({ index, value });
    else if (!passes && runs.at(-1)?.length) runs.push([]);
  });
  return runs;
}

/** The series that a value belongs to: the part of a stack that holds it, or the nearest line or bar. */
function rowAt(parts: ReturnType<typeof partsAt>, value: number, kind: ChartProps["kind"]): number {
  if (kind === "stacked") return parts.findIndex((part) => part && part.from <= value && value < part.to);
  const distances = parts.map((part) => (part ? Math.abs(part.to - value) : Number.POSITIVE_INFINITY));
  const least = Math.min(...distances);
  return Number.isFinite(least) ? distances.indexOf(least) : -1;
}

/** Round figures from nothing to at least `most`, about five of them; whole ones for what is counted. */
export function ticksTo(most: number, whole = false): number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const found = unit * ([1, 2, 2.5, 5].find((each) => each * unit >= rough * 0.999) ?? 10);
  const step = whole ? Math.ceil(found) : found;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, index) =>
    Number((index * step).toPrecision(12)),
  );
}

/** By how much the label of each value is raised, so that no two are nearer than `gap`; nothing where there is no value. */
export function labelRaises(values: readonly (number | null)[], gap: number): number[] {
  const raises = values.map(() => 0);
  const known = values.flatMap((value, index) => (value === null ? [] : [{ value, index }]));
  let last = Number.NEGATIVE_INFINITY;
  for (const { value, index } of known.sort((one, other) => one.value - other.value || other.index - one.index)) {
    last = Math.max(value, last + gap);
    raises[index] = last - value;
  }
  return raises;
}

const paint = (colour: Colour) => `var(--eg-${colour})`;
const plain = (value: number) => value.toLocaleString("en-GB");
const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
