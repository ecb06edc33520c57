/** The columns of the list of traces. */

import { When } from "@/ui/Age";
import { Tier } from "@/ui/cases";
import { count, dollars, duration, milliseconds, unit } from "@/ui/format";
import { CELL_CHARACTERS, type ColumnSpec, choosable, columnsFrom, dimmed, markedDim, shownOf } from "@/ui/RecordList";
import { Marked } from "@/ui/text";
import type { ListedTrace, Trace } from "./data";
import { Excerpt } from "./Hit";
import classes from "./traces.module.css";
import type { TraceView } from "./view";

export const CHOOSABLE = choosable(specsOf(undefined));
export const shownColumns = (view: TraceView) => shownOf(specsOf(view.q), view.columns);
export const columnsOf = (view: TraceView) => columnsFrom(specsOf(view.q), view.columns);

function specsOf(search: string | undefined): ColumnSpec<ListedTrace>[] {
  const wide = "minmax(0, 140px)";
  return [
    { id: "became", label: "Became", width: "104px", usual: true, cell: (trace) => <Became trace={trace} /> },
    { id: "status", label: "Status", width: "96px", cell: ({ status }) => <Status status={status} /> },
    {
      id: "main",
      label: "Input",
      width: "minmax(0, 5fr)",
      always: true,
      cell: ({ input, name, id }) => <Marked text={input || name || id} search={search} seen={CELL_CHARACTERS} />,
    },
    {
      id: "second",
      label: "Output",
      width: "minmax(0, 5fr)",
      usual: true,
      cell: (trace) => markedDim(flatten(trace.output || errorOf(trace)), search),
    },
    { id: "name", label: "Name", width: wide, cell: ({ name }) => dimmed(name) },
    { id: "model", label: "Model", width: wide, usual: true, cell: (trace) => dimmed(modelOf(trace) ?? "") },
    { id: "user", label: "User", width: "minmax(0, 110px)", cell: ({ user_id }) => dimmed(user_id ?? "") },
    { id: "tags", label: "Tags", width: "minmax(0, 150px)", cell: ({ tags }) => dimmed(tags.join(", ")) },
    {
      id: "scores",
      label: "Scores",
      width: "minmax(0, 200px)",
      cell: ({ scores }) => dimmed(scores.map(({ name, value }) => `${name} ${unit(value)}`).join(", ")),
    },
    { id: "tokens", label: "Tokens", width: "72px", cell: (trace) => dimmed(counted(tokensOf(trace))) },
    { id: "cost", label: "Cost", width: "84px", cell: (trace) => dimmed(costOf(trace) ?? "–") },
    {
      id: "took",
      label: "Took",
      width: "76px",
      usual: true,
      cell: ({ started_at, ended_at }) => dimmed(duration(milliseconds(started_at, ended_at))),
    },
    { id: "age", label: "When", width: "76px", usual: true, cell: ({ started_at }) => <When at={started_at} /> },
    // A line of its own below the others, for which the list needs no width.
    {
      id: "hit",
      label: "",
      width: "",
      always: true,
      cell: ({ hit }) =>
        hit &&
        !(hit.part === "question" && !hit.excerpt[0]?.startsWith("…")) && <Excerpt hit={hit} folded={isInView(hit)} />,
    },
  ];
}

/** Whether the column of the answer, where there is room for it, shows a hit already. */
const isInView = ({ part, excerpt }: NonNullable<ListedTrace["hit"]>) =>
  part === "answer" && !excerpt[0]?.startsWith("…");

/** What became of a trace, in one word: its case, what it lacks, that its app failed, or nothing. */
function Became({ trace: { became, incomplete, status } }: { trace: ListedTrace }) {
  if (became && became !== "none") return <Tier tier={became === "golden" ? "confirmed" : became} />;
  if (status !== "completed") return <Status status={status} />;
  return dimmed(incomplete?.length ? "Incomplete" : "No case");
}

/** What a failed trace says of its failure. */
function errorOf({ status, metadata }: Trace): string {
  return status === "failed" && typeof metadata?.error === "string" ? metadata.error : "";
}

/** A text without the signs of Markdown, as one line of a list shows it. */
export function flatten(text: string): string {
  return text
    .replace(/```\w*/g, " ")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(^|\s)(#{1,6}|[-*+]|>|\d+\.)\s+/g, "$1")
    .replace(/(\*\*|__|`)/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

export function modelOf(trace: Trace): string | null {
  const model = trace.metadata?.model;
  return typeof model === "string" ? model : null;
}

const figureOf = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);
const counted = (number: number | null) => (number === null ? "–" : count(number));

function tokensOf({ metadata }: Trace): number | null {
  const parts = [figureOf(metadata?.input_tokens), figureOf(metadata?.output_tokens)];
  const known = parts.filter((part) => part !== null);
  return figureOf(metadata?.total_tokens) ?? (known.length > 0 ? known.reduce((sum, part) => sum + part, 0) : null);
}

/** What a trace cost; `≈` where the price list says it and not the trace, nothing where it is not known. */
export function costOf({ cost, cost_source }: Pick<Trace, "cost" | "cost_source">): string | null {
  if (cost === null || cost === undefined) return null;
  return cost_source === "priced" ? `≈${dollars(cost)}` : dollars(cost);
}

const WORD: Record<string, string> = { completed: "Completed", failed: "Failed", started: "Running" };

export function Status({ status }: { status: string }) {
  return (
    <span className={classes.status} data-status={status}>
      {WORD[status] ?? status}
    </span>
  );
}
