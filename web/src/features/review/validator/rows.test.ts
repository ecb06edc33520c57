import { describe, expect, it } from "vitest";
import { aRowA, aRowB, jsonl } from "./builders";
import { joinRows, missingHalf } from "./imports";
import { parseFile } from "./rows";

const parse = (...rows: Parameters<typeof jsonl>) => parseFile("f.jsonl", jsonl(...rows));

describe("parseFile", () => {
  it("recognises dataset A, B and a mixed file", () => {
    expect(parse(aRowA("1")).kind).toBe("A");
    expect(parse(aRowB("1")).kind).toBe("B");
    expect(parse(aRowA("1"), aRowB("1")).kind).toBe("A and B");
  });

  it("names a broken line 17 and offers the other rows", () => {
    const rows: Parameters<typeof jsonl> = Array.from({ length: 20 }, (_, index) => aRowA(`case-${index}`));
    rows[16] = '{"caseId": "x", "filePaths": [';
    const parsed = parse(...rows);
    expect(parsed.rows).toHaveLength(19);
    expect(parsed.problems).toMatchObject([
      { line: 17, effect: "refused", message: expect.stringContaining("not valid JSON") },
    ]);
  });

  it("reads null where a list belongs as an empty list and says so", () => {
    const parsed = parse(
      aRowA("1", { filePaths: null }),
      aRowB("2", { lineRanges: [{ path: "a", startLine: 1, endLine: 1, sources: null }] }),
    );
    expect(parsed.rows.map((row) => row.entries.length)).toEqual([0, 1]);
    expect(parsed.problems.map((problem) => [problem.line, problem.field, problem.effect])).toEqual([
      [1, "filePaths", "repaired"],
      [2, "lineRanges[0].sources", "repaired"],
    ]);
  });

  it.each([
    [aRowA("1", { filePaths: "pkg/a.go" }), "filePaths"],
    [aRowA("1", { filePaths: ["pkg/a.go"] }), "filePaths[0]"],
    [aRowA("1", { query: 7 }), "query"],
    [aRowA("", {}), "caseId"],
    [aRowB("1", { lineRanges: [{ path: "a", startLine: 0, endLine: 2, sources: [] }] }), "lineRanges[0].startLine"],
    [aRowB("1", { lineRanges: [{ path: "a", startLine: 5, endLine: 2, sources: [] }] }), "lineRanges[0].endLine"],
    [aRowB("1", { lineRanges: [{ path: "a", startLine: "5", endLine: 7, sources: [] }] }), "lineRanges[0].startLine"],
    [aRowA("1", { lineRanges: [] }), "lineRanges"],
  ])("refuses a row of the wrong type and names the field %#", (row, field) => {
    const parsed = parse(row, aRowA("good"));
    expect(parsed.rows.map((good) => good.identity.caseId)).toEqual(["good"]);
    expect(parsed.problems).toMatchObject([{ line: 1, field, effect: "refused" }]);
  });

  it("keeps the first of two rows of one case and tells an exact repeat from a contradiction", () => {
    const parsed = parse(aRowA("1"), aRowA("1"), aRowA("1", { query: "other" }));
    expect(parsed.rows).toHaveLength(1);
    expect(parsed.problems.map((problem) => problem.message)).toEqual([
      expect.stringContaining("exactly"),
      expect.stringContaining("other content"),
    ]);
  });

  it("takes lines of 200 KB, a byte-order mark and Windows line ends", () => {
    const long = aRowA("1", { query: "x".repeat(200_000) });
    const parsed = parseFile("f.jsonl", `\ufeff${JSON.stringify(long)}\r\n${JSON.stringify(aRowA("2"))}\r\n`);
    expect(parsed.problems).toEqual([]);
    expect(parsed.rows[0]?.query).toHaveLength(200_000);
  });

  it.each([
    ['{"id":"1","entry_type":"golden","input":"hi"}', "import it on the Cases page"],
    ['{"caseId":"1","ranges":[]}', "predictions for retrieval scoring"],
    ['{"messages":[]}\n{"messages":[]}', "(2 lines like this)"],
    ["SQLite format 3\0", "SQLite database"],
    ["name: tasks\ntasks:\n  - id: 1", "YAML"],
    ['[{"caseId":"1"}]', "JSON array"],
    ["a,b,c\n1,2,3", "not JSONL"],
    ["", "empty"],
  ])("explains a foreign file once: %s", (text, words) => {
    const parsed = parseFile("other", text);
    expect(parsed.kind).toBe("other");
    expect(parsed.problems).toHaveLength(1);
    expect(parsed.problems[0]?.message).toContain(words);
  });

  it("keeps keys it does not know", () => {
    const parsed = parse(aRowA("1", { baseVerified: true, filePaths: [{ path: "a", sources: [], blobSha: "f00" }] }));
    expect(parsed.rows[0]).toMatchObject({ extra: { baseVerified: true }, entries: [{ blobSha: "f00" }] });
  });
});

describe("joinRows", () => {
  it("makes one case of a pair and names a half pair", () => {
    const { contents } = joinRows([parse(aRowA("1"), aRowA("2")), parse(aRowB("1"))]);
    expect(contents.map(missingHalf)).toEqual([null, expect.stringContaining("dataset B")]);
  });

  it("uses A's query where the pair disagrees, and B's where A has none", () => {
    const { contents, problems } = joinRows([
      parse(aRowA("1", { query: "mine" }), aRowA("2", { query: "" })),
      parse(aRowB("1", { query: "other" }), aRowB("2", { query: "only" })),
    ]);
    expect(contents.map((content) => content.query)).toEqual(["mine", "only"]);
    expect(problems).toMatchObject([{ field: "query", line: 1, effect: "note" }]);
  });
});
