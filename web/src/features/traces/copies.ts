/** A trace as something to paste elsewhere: a request, a few lines of Python, a task of a YAML dataset. */
import type { Trace } from "./data";

const quoted = (text: string) => JSON.stringify(text);

export function copies(trace: Trace, origin: string): [string, string][] {
  const address = `${origin}/api/v1/traces/${encodeURIComponent(trace.id)}`;
  const python = [
    "import evergold",
    "",
    `eg = evergold.connect(${quoted(origin)})`,
    `eg.score(${quoted(trace.id)}, "opinion", 1.0, source="human")`,
    `eg.correct(${quoted(trace.id)}, ${quoted(trace.output ?? "")})`,
  ];
  const task = [
    "name: Picked",
    "description: Tasks made from traces.",
    "tasks:",
    `  - id: ${quoted(trace.id)}`,
    `    name: ${quoted(trace.name || trace.id)}`,
    `    input: ${quoted(trace.input ?? "")}`,
    `    expected_output: ${quoted(trace.output ?? "")}`,
  ];
  return [
    ["curl", `curl ${address}`],
    ["Python", `${python.join("\n")}\n`],
    ["YAML task", `${task.join("\n")}\n`],
    ["JSON", JSON.stringify(trace, null, 2)],
  ];
}
