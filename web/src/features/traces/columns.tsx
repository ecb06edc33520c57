import { age, count, duration, milliseconds, unit } from "@/ui/format";
import { Marked } from "@/ui/Marked";
import type { ListColumn } from "@/ui/RecordList";
import type { Trace } from "./data";
import { Status } from "./Status";
import type { TraceView } from "./view";

const WIDTHS: Record<string, string> = {
  status: "96px",
  main: "minmax(0, 5fr)",
  second: "minmax(0, 5fr)",
  name: "minmax(0, 140px)",
  model: "minmax(0, 140px)",
  user: "minmax(0, 110px)",
  tags: "minmax(0, 150px)",
  scores: "minmax(0, 200px)",
  tokens: "72px",
  cost: "76px",
  took: "76px",
  age: "76px",
};
const DEFAULT = ["status", "second", "model", "took", "age"];

/** The columns one can choose; the question is always there. */
export const CHOOSABLE = [
  { id: "status", label: "Status" },
  { id: "second", label: "Output" },
  { id: "name", label: "Name" },
  { id: "model", label: "Model" },
  { id: "user", label: "User" },
  { id: "tags", label: "Tags" },
  { id: "scores", label: "Scores" },
  { id: "tokens", label: "Tokens" },
  { id: "cost", label: "Cost" },
  { id: "took", label: "Took" },
  { id: "age", label: "When" },
] as const;

export function shownColumns(view: TraceView): readonly string[] {
  return view.columns ?? DEFAULT;
}

export function columnsOf(view: TraceView): { columns: ListColumn<Trace>[]; template: string } {
  const shown = new Set(["main", ...shownColumns(view)]);
  const columns = allColumns(view.q).filter((column) => shown.has(column.id ?? ""));
  return { columns, template: columns.map((column) => WIDTHS[column.id ?? ""]).join(" ") };
}

function allColumns(search: string | undefined): ListColumn<Trace>[] {
  const dim = (id: string, header: string, text: (trace: Trace) => string): ListColumn<Trace> => ({
    id,
    header,
    cell: ({ row }) => <span className="eg-dim eg-numeric">{text(row.original)}</span>,
  });
  return [
    { id: "status", header: "Status", cell: ({ row }) => <Status status={row.original.status} /> },
    {
      id: "main",
      header: "Input",
      cell: ({ row: { original } }) => <Marked text={original.input || original.name || original.id} search={search} />,
    },
    {
      id: "second",
      header: "Output",
      cell: ({ row }) => (
        <span className="eg-dim">
          <Marked text={row.original.output ?? ""} search={search} />
        </span>
      ),
    },
    dim("name", "Name", (trace) => trace.name),
    dim("model", "Model", (trace) => modelOf(trace) ?? ""),
    dim("user", "User", (trace) => trace.user_id ?? ""),
    dim("tags", "Tags", (trace) => trace.tags.join(", ")),
    dim("scores", "Scores", (trace) => trace.scores.map((score) => `${score.name} ${unit(score.value)}`).join(", ")),
    dim("tokens", "Tokens", (trace) => {
      const tokens = tokensOf(trace);
      return tokens === null ? "–" : count(tokens);
    }),
    dim("cost", "Cost", (trace) => costOf(trace) ?? "–"),
    dim("took", "Took", (trace) => duration(milliseconds(trace.started_at, trace.ended_at))),
    dim("age", "When", (trace) => age(trace.started_at)),
  ];
}

export function modelOf(trace: Trace): string | null {
  const model = trace.metadata?.model;
  return typeof model === "string" ? model : null;
}

const figureOf = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);

export function tokensOf({ metadata }: Trace): number | null {
  const parts = [figureOf(metadata?.input_tokens), figureOf(metadata?.output_tokens)];
  const known = parts.filter((part) => part !== null);
  return figureOf(metadata?.total_tokens) ?? (known.length > 0 ? known.reduce((sum, part) => sum + part, 0) : null);
}

export function costOf({ metadata }: Trace): string | null {
  const cost = figureOf(metadata?.cost);
  return cost === null ? null : `$${cost >= 1 ? cost.toFixed(2) : cost.toPrecision(2)}`;
}
