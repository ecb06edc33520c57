import { describe, expect, it } from "vitest";
import { diffFiles, unquote } from "./diffFiles";

const file = (header: string, body: string) => `diff --git ${header}\n${body}\n`;

describe("diffFiles", () => {
  it("gives the changed base lines of each hunk, context left out", () => {
    const body = [
      "--- a/x.go",
      "+++ b/x.go",
      "@@ -27,5 +27,5 @@ func",
      " keep",
      "-old 28",
      "-old 29",
      "+new",
      "+new",
      " keep",
      " keep",
    ];
    const [found] = diffFiles(file("a/x.go b/x.go", body.join("\n")));
    expect(found).toMatchObject({ path: "x.go", hunks: [{ oldStart: 27, oldCount: 5, ranges: [[28, 29]] }] });
  });

  it("counts the two lines around a pure insertion", () => {
    const body = ["--- a/x", "+++ b/x", "@@ -10,2 +10,3 @@", " ten", "+between", " eleven"].join("\n");
    expect(diffFiles(file("a/x b/x", body))[0]?.hunks[0]?.ranges).toEqual([[10, 11]]);
  });

  it("offers only the last line for lines appended to the end of a file", () => {
    const body = ["--- a/x", "+++ b/x", "@@ -198,3 +198,4 @@", " 198", " 199", " 200", "+added"].join("\n");
    expect(diffFiles(file("a/x b/x", body))[0]?.hunks[0]?.ranges).toEqual([[200, 200]]);
  });

  it("gives a new file no base range and knows renames, deletions and binary files", () => {
    const diff =
      file("a/new b/new", "new file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x") +
      file("a/old name b/new name", "similarity index 100%\nrename from old name\nrename to new name") +
      file("a/gone b/gone", "deleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x") +
      file("a/img.png b/img.png", "index 1..2 100644\nBinary files a/img.png and b/img.png differ");
    const found = diffFiles(diff);
    expect(found.map((one) => [one.oldPath, one.newPath, one.path, one.binary])).toEqual([
      [null, "new", "new", false],
      ["old name", "new name", "old name", false],
      ["gone", null, "gone", false],
      ["img.png", "img.png", "img.png", true],
    ]);
    expect(found.map((one) => one.hunks.flatMap((hunk) => hunk.ranges))).toEqual([[], [], [[1, 1]], []]);
  });

  it("reads quoted paths", () => {
    expect(unquote('"caf\\303\\251.txt"')).toBe("café.txt");
    const [found] = diffFiles(
      file('"a/caf\\303\\251" "b/caf\\303\\251"', '--- "a/caf\\303\\251"\n+++ "b/caf\\303\\251"\n@@ -1 +1 @@\n-a\n+b'),
    );
    expect(found?.path).toBe("café");
  });

  it("is not fooled by a removed line that looks like a header", () => {
    const body = ["--- a/x", "+++ b/x", "@@ -1,2 +1,1 @@", "--- a/fake", " kept"].join("\n");
    expect(diffFiles(file("a/x b/x", body))).toHaveLength(1);
  });
});
