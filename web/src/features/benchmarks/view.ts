/** What the address of a comparison says: the run to measure against, and the others. */
export type CompareView = { runs: string[] };

export function compareViewOf(search: Record<string, unknown>): CompareView {
  const runs = Array.isArray(search.runs) ? search.runs : [search.runs];
  return { runs: runs.filter((run): run is string => typeof run === "string" && run.length > 0).slice(0, 6) };
}
