/**
 * Recognises files that are not dataset A or B, so that a wrong file is answered with what it is and where it belongs
 * instead of a thousand missing-field messages.
 */
import type { JsonObject } from "./rows";

interface Signature {
  what: string;
  doInstead: string;
  matches: (row: JsonObject) => boolean;
}

const has = (row: JsonObject, ...keys: string[]) => keys.every((key) => key in row);

const SIGNATURES: Signature[] = [
  {
    what: "predictions for retrieval scoring",
    doInstead: "retrieval is scored outside this page",
    matches: (row) => has(row, "caseId") && (has(row, "ranges") || has(row, "paths")),
  },
  {
    what: "an export of the living dataset",
    doInstead: "import it on the Cases page and review it in the queue",
    matches: (row) => has(row, "entry_type", "input"),
  },
  {
    what: "a RAG split or offline generations",
    doInstead: "import it on the Cases page and review it in the queue",
    matches: (row) => has(row, "task_id") && (has(row, "question") || has(row, "instruction") || has(row, "summary")),
  },
  {
    what: "an OpenAI fine-tuning file",
    doInstead: "import it on the Cases page",
    matches: (row) => Array.isArray(row.messages),
  },
  {
    what: "an OpenAI preference file",
    doInstead: "import it on the Cases page",
    matches: (row) => has(row, "preferred_output"),
  },
  {
    what: "OpenTelemetry traces",
    doInstead: "drop the file on the Overview or Traces page",
    matches: (row) => has(row, "resourceSpans"),
  },
  {
    what: "a Claude Code session log",
    doInstead: "cases are first extracted from it; ask whoever runs this server",
    matches: (row) => has(row, "sessionId", "type"),
  },
  {
    what: "an agent trajectory",
    doInstead: "cases are first extracted from it; ask whoever runs this server",
    matches: (row) => has(row, "steps", "agent") || has(row, "payload", "type"),
  },
  {
    what: "an OpenAI evals file",
    doInstead: "import it on the Cases page",
    matches: (row) => has(row, "input", "ideal"),
  },
  {
    what: "an Inspect dataset",
    doInstead: "import it on the Cases page",
    matches: (row) => has(row, "input", "target"),
  },
  {
    what: "a Ragas dataset",
    doInstead: "import it on the Cases page",
    matches: (row) => has(row, "user_input"),
  },
  {
    what: "DeepEval goldens",
    doInstead: "import it on the Cases page",
    matches: (row) => has(row, "input") && (has(row, "expectedOutput") || has(row, "actualOutput")),
  },
  {
    what: "an MLflow dataset",
    doInstead: "import it on the Cases page",
    matches: (row) => has(row, "inputs", "expectations"),
  },
];

/** One sentence on what a foreign row is and what to do with it, or null when nothing known fits. */
export function foreignRow(row: JsonObject): string | null {
  const found = SIGNATURES.find((signature) => signature.matches(row));
  return found === undefined ? null : `looks like ${found.what}; ${found.doInstead}`;
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
