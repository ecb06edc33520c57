/**
 * Recognises files that are not dataset A or B, so that a wrong file is answered with what it is and where it belongs
 * instead of a thousand missing-field messages.
 */
import type { JsonObject } from "../content";

const IMPORT = "import it on the Cases page";
const REVIEW = `${IMPORT} and review it in the queue`;
const EXTRACT = "cases are first extracted from it; ask whoever runs this server";

const has = (row: JsonObject, ...keys: string[]) => keys.every((key) => key in row);

/** What a row is, what to do with it instead, and how it is known. */
const SIGNATURES: [what: string, doInstead: string, matches: (row: JsonObject) => boolean][] = [
  [
    "predictions for retrieval scoring",
    "retrieval is scored outside this page",
    (row) => has(row, "caseId") && (has(row, "ranges") || has(row, "paths")),
  ],
  ["an export of the living dataset", REVIEW, (row) => has(row, "entry_type", "input")],
  [
    "a RAG split or offline generations",
    REVIEW,
    (row) => has(row, "task_id") && (has(row, "question") || has(row, "instruction") || has(row, "summary")),
  ],
  ["an OpenAI fine-tuning file", IMPORT, (row) => Array.isArray(row.messages)],
  ["an OpenAI preference file", IMPORT, (row) => has(row, "preferred_output")],
  ["OpenTelemetry traces", "drop the file on the Overview or Traces page", (row) => has(row, "resourceSpans")],
  ["a Claude Code session log", EXTRACT, (row) => has(row, "sessionId", "type")],
  ["an agent trajectory", EXTRACT, (row) => has(row, "steps", "agent") || has(row, "payload", "type")],
  ["an OpenAI evals file", IMPORT, (row) => has(row, "input", "ideal")],
  ["an Inspect dataset", IMPORT, (row) => has(row, "input", "target")],
  ["a Ragas dataset", IMPORT, (row) => has(row, "user_input")],
  ["DeepEval goldens", IMPORT, (row) => has(row, "input") && (has(row, "expectedOutput") || has(row, "actualOutput"))],
  ["an MLflow dataset", IMPORT, (row) => has(row, "inputs", "expectations")],
];

/** One sentence on what a foreign row is and what to do with it, or null when nothing known fits. */
export function foreignRow(row: JsonObject): string | null {
  const [what, doInstead] = SIGNATURES.find(([, , matches]) => matches(row)) ?? [];
  return what === undefined ? null : `looks like ${what}; ${doInstead}`;
}

/** Files that are not JSONL at all, told by their first characters. */
export function foreignText(text: string): string | null {
  const head = text.slice(0, 2000).trimStart();
  if (head === "") return "the file is empty";
  if (head.startsWith("SQLite format 3"))
    return "this is a SQLite database; cases are first extracted from it, ask whoever runs this server";
  if (head.startsWith("PK\u0003\u0004") || head.startsWith("PAR1"))
    return "this is a binary file (zip or parquet), not JSONL";
  if (head.startsWith("[")) return "this is one JSON array; the validator reads JSONL: one object on each line";
  if (/^(name|tasks|tests|cases):/m.test(head)) return "this is YAML; import it on the Cases page";
  if (/^diff --git /m.test(head)) return "this is a git diff, not a dataset";
  if (/^\{\s*$/m.test(head.split("\n", 1)[0] ?? ""))
    return "this is indented JSON; the validator reads JSONL: one object on each line";
  return head.startsWith("{") ? null : "this is not JSONL: the first line is not a JSON object";
}
