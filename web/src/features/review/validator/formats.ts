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
    doInstead: "score them with `evergold score-retrieval GOLDEN PREDICTIONS`",
    matches: (row) => has(row, "caseId") && (has(row, "ranges") || has(row, "paths")),
  },
  {
    what: "an export of the living dataset",
    doInstead: "bring it in with `evergold import FILE` and review it in the queue",
    matches: (row) => has(row, "entry_type", "input"),
  },
  {
    what: "a RAG split or offline generations",
    doInstead: "bring it in with `evergold import FILE` and review it in the queue",
    matches: (row) => has(row, "task_id") && (has(row, "question") || has(row, "instruction") || has(row, "summary")),
  },
  {
    what: "an OpenAI fine-tuning file",
    doInstead: "bring it in with `evergold import FILE`",
    matches: (row) => Array.isArray(row.messages),
  },
  {
    what: "an OpenAI preference file",
    doInstead: "bring it in with `evergold import FILE`",
    matches: (row) => has(row, "preferred_output"),
  },
  {
    what: "OpenTelemetry traces",
    doInstead: "ingest them with `evergold ingest FILE`",
    matches: (row) => has(row, "resourceSpans"),
  },
  {
    what: "a Claude Code session log",
    doInstead: "extract cases from it with `evergold extract claude-code`",
    matches: (row) => has(row, "sessionId", "type"),
  },
  {
    what: "an agent trajectory",
    doInstead: "extract cases from it with `evergold extract`",
    matches: (row) => has(row, "steps", "agent") || has(row, "payload", "type"),
  },
  {
    what: "an OpenAI evals file",
    doInstead: "bring it in with `evergold import FILE`",
    matches: (row) => has(row, "input", "ideal"),
  },
  {
    what: "an Inspect dataset",
    doInstead: "bring it in with `evergold import FILE`",
    matches: (row) => has(row, "input", "target"),
  },
  {
    what: "a Ragas dataset",
    doInstead: "bring it in with `evergold import FILE`",
    matches: (row) => has(row, "user_input"),
  },
  {
    what: "DeepEval goldens",
    doInstead: "bring it in with `evergold import FILE`",
    matches: (row) => has(row, "input") && (has(row, "expectedOutput") || has(row, "actualOutput")),
  },
  {
    what: "an MLflow dataset",
    doInstead: "bring it in with `evergold import FILE`",
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
    return "this is a SQLite database; run `evergold extract sidekick` on it first";
  if (head.startsWith("PK\u0003\u0004") || head.startsWith("PAR1"))
    return "this is a binary file (zip or parquet), not JSONL";
  if (head.startsWith("[")) return "this is one JSON array; the validator reads JSONL: one object on each line";
  if (/^(name|tasks|tests|cases):/m.test(head)) return "this is YAML; bring it in with `evergold import FILE`";
  if (/^diff --git /m.test(head)) return "this is a git diff, not a dataset";
  if (/^\{\s*$/m.test(head.split("\n", 1)[0] ?? ""))
    return "this is indented JSON; the validator reads JSONL: one object on each line";
  return head.startsWith("{") ? null : "this is not JSONL: the first line is not a JSON object";
}
