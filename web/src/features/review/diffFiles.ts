/**
 * A git diff → its files and hunks, with the base-side lines each hunk changed: what a click on a hunk adds as a range.
 *
 * The rule for ranges is the one of the extractor: only changed lines count, a pure insertion counts the two lines it lands
 * between, a new file has no base range.
 */

export interface Hunk {
  header: string;
  oldStart: number;
  oldCount: number;
  /** Lines as in the diff, the header first: what the diff view draws. */
  text: string;
  ranges: [start: number, end: number][];
}

export interface DiffFile {
  oldPath: string | null;
  newPath: string | null;
  /** The path at base, or the new one where the file did not exist there. */
  path: string;
  binary: boolean;
  hunks: Hunk[];
  text: string;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Undoes git's quoting of unusual paths ("caf\303\251"), which spells bytes in octal. */
export function unquote(spelling: string): string {
  if (!spelling.startsWith('"') || !spelling.endsWith('"')) return spelling.replace(/\t$/, "");
  const plain: Record<string, number> = { n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11, '"': 34, "\\": 92 };
  const bytes: number[] = [];
  const inner = spelling.slice(1, -1);
  for (let at = 0; at < inner.length; at += 1) {
    const octal = /^\\([0-7]{3})/.exec(inner.slice(at));
    if (octal !== null) {
      bytes.push(Number.parseInt(octal[1] as string, 8));
      at += 3;
    } else if (inner[at] === "\\" && inner[at + 1] !== undefined && (inner[at + 1] as string) in plain) {
      bytes.push(plain[inner[at + 1] as string] as number);
      at += 1;
    } else bytes.push(...new TextEncoder().encode(inner[at] as string));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

function side(line: string, prefix: string): string | null {
  const path = unquote(line.slice(4));
  if (path === "/dev/null") return null;
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}

function pathsOf(lines: string[]): [string | null, string | null] {
  const after = (start: string) => lines.find((line) => line.startsWith(start))?.slice(start.length);
  const [minus, plus] = [lines.find((line) => line.startsWith("--- ")), lines.find((line) => line.startsWith("+++ "))];
  if (minus !== undefined && plus !== undefined) return [side(minus, "a/"), side(plus, "b/")];
  const [from, to] = [after("rename from ") ?? after("copy from "), after("rename to ") ?? after("copy to ")];
  if (from !== undefined && to !== undefined) return [unquote(from), unquote(to)];
  const header = (lines[0] ?? "").slice("diff --git ".length);
  const same = /^"?a\/(.*?)"? "?b\/\1"?$/.exec(header);
  const path = same === null ? header : unquote(header.startsWith('"') ? `"${same[1]}"` : (same[1] as string));
  const added = lines.some((line) => line.startsWith("new file mode"));
  const deleted = lines.some((line) => line.startsWith("deleted file mode"));
  return [added ? null : path, deleted ? null : path];
}

function changedRanges(body: string[], oldStart: number, oldCount: number): [number, number][] {
  const ranges: [number, number][] = [];
  const oldEnd = oldStart + oldCount + (oldCount === 0 ? 1 : 0);
  const hasContext = body.some((text) => !/^[-+\\]/.test(text));
  let line = oldCount === 0 ? oldStart + 1 : oldStart;
  let from: number | null = null;
  let inserted = false;
  const close = () => {
    if (from !== null) ranges.push([from, line - 1]);
    else if (inserted) {
      // An insertion lands between two lines; after the last line of the file there is only the one before it.
      const end = line < oldEnd || !hasContext ? line : line - 1;
      const start = Math.max(1, line - 1);
      if (start <= end) ranges.push([start, end]);
    }
    [from, inserted] = [null, false];
  };
  for (const text of body) {
    if (text.startsWith("-")) {
      from ??= line;
      line += 1;
    } else if (text.startsWith("+")) inserted = true;
    else if (!text.startsWith("\\")) {
      close();
      line += 1;
    }
  }
  close();
  return ranges;
}

function hunksOf(lines: string[], isNew: boolean): Hunk[] {
  const starts = lines.flatMap((line, index) => (HUNK.test(line) ? [index] : []));
  return starts.map((start, nth) => {
    const header = lines[start] as string;
    const found = HUNK.exec(header) as RegExpExecArray;
    const [oldStart, oldCount] = [Number(found[1]), found[2] === undefined ? 1 : Number(found[2])];
    const body = lines.slice(start + 1, starts[nth + 1] ?? lines.length).filter((line) => line !== "");
    const ranges = isNew ? [] : changedRanges(body, oldStart, oldCount);
    return { header, oldStart, oldCount, ranges, text: [header, ...body].join("\n") };
  });
}

export function diffFiles(diff: string): DiffFile[] {
  const lines = diff.split("\n");
  const starts = lines.flatMap((line, index) => (line.startsWith("diff --git ") ? [index] : []));
  return starts.map((start, nth) => {
    const own = lines.slice(start, starts[nth + 1] ?? lines.length);
    const firstHunk = own.findIndex((line) => HUNK.test(line));
    const [oldPath, newPath] = pathsOf(firstHunk === -1 ? own : own.slice(0, firstHunk));
    return {
      oldPath,
      newPath,
      path: oldPath ?? newPath ?? "",
      binary: own.some((line) => line.startsWith("Binary files ") || line.startsWith("GIT binary patch")),
      hunks: hunksOf(own, oldPath === null),
      text: own.join("\n"),
    };
  });
}
