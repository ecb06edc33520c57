/**
 * Rows of A and B → one `Content` a case. Where the two rows of a pair disagree on a shared field, A's value is used and
 * the difference is named, because choosing silently would hide that one of the files is wrong.
 */
import type { ParsedFile, Problem, Row } from "./importJsonl";
import type { Content, PathEntry, RangeEntry } from "./rows";

interface Joined {
  contents: Content[];
  problems: Problem[];
}

function shared(first: Row, second: Row, field: "query" | "baseCommit", problems: Problem[]): string {
  const [mine, other] = [first[field], second[field]];
  if (mine === other || other === "") return mine;
  if (mine === "") return other;
  const message = `${field} differs from line ${first.line} of ${first.file}, whose value is used`;
  problems.push({ file: second.file, line: second.line, field, message, effect: "note" });
  return mine;
}

function pair(rowA: Row | undefined, rowB: Row | undefined, problems: Problem[]): Content {
  const first = (rowA ?? rowB) as Row;
  const second = rowB ?? first;
  return {
    identity: first.identity,
    query: shared(first, second, "query", problems),
    baseCommit: shared(first, second, "baseCommit", problems),
    filePaths: rowA === undefined ? null : (rowA.entries as PathEntry[]),
    lineRanges: rowB === undefined ? null : (rowB.entries as RangeEntry[]),
    extraA: rowA?.extra ?? {},
    extraB: rowB?.extra ?? {},
  };
}

function repeatedAcross(rows: Row[], problems: Problem[]): Map<string, Row> {
  const byCase = new Map<string, Row>();
  for (const row of rows) {
    const earlier = byCase.get(row.identity.caseId);
    if (earlier === undefined) {
      byCase.set(row.identity.caseId, row);
      continue;
    }
    const message = `case ${row.identity.caseId} is also in line ${earlier.line} of ${earlier.file}, which is kept`;
    problems.push({ file: row.file, line: row.line, field: "caseId", message, effect: "refused" });
  }
  return byCase;
}

/** Joins the rows of any number of files, in the order in which the cases first appear. */
export function joinRows(files: ParsedFile[]): Joined {
  const problems: Problem[] = [];
  const rows = files.flatMap((file) => file.rows);
  const a = repeatedAcross(
    rows.filter((row) => row.list === "filePaths"),
    problems,
  );
  const b = repeatedAcross(
    rows.filter((row) => row.list === "lineRanges"),
    problems,
  );
  const ids = [...new Set(rows.map((row) => row.identity.caseId))];
  return { contents: ids.map((id) => pair(a.get(id), b.get(id), problems)), problems };
}

/** Which half a case lacks, said so that the reviewer knows what to import. */
export function missingHalf(content: Content): string | null {
  if (content.filePaths === null) return "no row in dataset A (file paths) was imported for this case";
  if (content.lineRanges === null) return "no row in dataset B (line ranges) was imported for this case";
  return null;
}
