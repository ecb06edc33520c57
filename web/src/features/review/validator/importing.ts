/** Files chosen by the reviewer → what importing them would do. */
import { type ParsedFile, type Problem, parseFile } from "./importJsonl";
import { joinRows, missingHalf } from "./join";
import { type ImportPlan, planImport } from "./reimport";
import type { Session } from "./session";

export interface Proposal {
  files: Pick<ParsedFile, "file" | "kind">[];
  rows: number;
  plan: ImportPlan;
  problems: Problem[];
}

/** Half pairs are only worth a word once both datasets are there: a file at a time is the normal way. */
function halfPairs(plan: ImportPlan, session: Session, kinds: Set<string>): Problem[] {
  const both = kinds.has("A and B") || (kinds.has("A") && kinds.has("B"));
  return plan.added.flatMap((content): Problem[] => {
    const message = missingHalf(content);
    if (message === null || (!both && session.order.length === 0)) return [];
    return [{ file: content.identity.caseId, line: null, field: null, message, effect: "note" }];
  });
}

export async function propose(session: Session, files: readonly File[]): Promise<Proposal> {
  const parsed = await Promise.all(files.map(async (file) => parseFile(file.name, await file.text())));
  const joined = joinRows(parsed);
  const plan = planImport(session, joined.contents);
  const halves = halfPairs(plan, session, new Set(parsed.map((file) => file.kind)));
  return {
    files: parsed.map(({ file, kind }) => ({ file, kind })),
    rows: parsed.reduce((sum, file) => sum + file.rows.length, 0),
    plan,
    problems: [...parsed.flatMap((file) => file.problems), ...joined.problems, ...halves],
  };
}

export const offered = (plan: ImportPlan) => plan.added.length + plan.updated.length + plan.clashes.length;

export function summary({ plan, rows }: Proposal): string {
  const parts = [
    [plan.added.length, "new"],
    [plan.updated.length, "updated"],
    [plan.clashes.length, "to decide"],
    [plan.unchanged.length, "unchanged"],
  ].flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  return `${rows} rows read: ${parts.join(", ") || "no case"}`;
}
