import { age, duration, milliseconds } from "@/ui/format";
import type { ListColumn } from "@/ui/RecordList";
import type { Trace } from "./data";
import { Status } from "./Status";

export const TRACE_TEMPLATE = "96px minmax(0, 5fr) minmax(0, 5fr) minmax(0, 140px) 76px 76px";

export const TRACE_COLUMNS: ListColumn<Trace>[] = [
  { id: "status", header: "Status", cell: ({ row }) => <Status status={row.original.status} /> },
  {
    id: "main",
    header: "Input",
    cell: ({ row }) => row.original.input.slice(0, 300) || row.original.name || row.original.id,
  },
  {
    id: "second",
    header: "Output",
    cell: ({ row }) => <span className="eg-dim">{row.original.output?.slice(0, 300)}</span>,
  },
  {
    id: "model",
    header: "Model",
    cell: ({ row }) => <span className="eg-dim">{modelOf(row.original) ?? row.original.name}</span>,
  },
  {
    id: "took",
    header: "Took",
    cell: ({ row }) => (
      <span className="eg-dim eg-numeric">
        {duration(milliseconds(row.original.started_at, row.original.ended_at))}
      </span>
    ),
  },
  {
    id: "age",
    header: "When",
    cell: ({ row }) => <span className="eg-dim eg-numeric">{age(row.original.started_at)}</span>,
  },
];

export function modelOf(trace: Trace): string | null {
  const model = trace.metadata?.model;
  return typeof model === "string" ? model : null;
}
