/**
 * The diff that was approved, file by file, with the golden lines marked. A click on a hunk's lines button, or on a line
 * number inside the hunk, puts the base lines it changed into the case's ranges. Loaded late: the diff view is heavy.
 */
import "@git-diff-view/react/styles/diff-view-pure.css";
import { DiffModeEnum, DiffView } from "@git-diff-view/react";
import { useComputedColorScheme } from "@mantine/core";
import { type MouseEvent, useId, useMemo } from "react";
import { visible } from "@/ui/text";
import { type DiffFile, diffFiles, type Hunk } from "./diffFiles";
import classes from "./evidence.module.css";

type GoldenRange = { path: string; startLine: number; endLine: number };

type DiffEvidenceProps = {
  diff: string;
  paths: string[];
  ranges: GoldenRange[];
  onAddPath: (path: string) => void;
  onAddRange: (range: GoldenRange) => void;
};

const DRAWN_LINES = 4000;

export default function DiffEvidence({ diff, ...rest }: DiffEvidenceProps) {
  const files = useMemo(() => diffFiles(diff), [diff]);
  if (files.length === 0) return <p className={classes.none}>The approved diff is empty.</p>;
  return files.map((file) => <FileDiff key={`${file.oldPath} ${file.newPath}`} file={file} {...rest} />);
}

function FileDiff({
  file,
  paths,
  ranges,
  onAddPath,
  onAddRange,
}: { file: DiffFile } & Omit<DiffEvidenceProps, "diff">) {
  const scheme = useComputedColorScheme("light");
  const scope = useId();
  const own = ranges.filter((range) => range.path === file.path);
  const covered = (start: number, end: number) => own.some((range) => range.startLine <= start && range.endLine >= end);
  const add = (hunk: Hunk) =>
    hunk.ranges
      .filter(([start, end]) => !covered(start, end))
      .forEach(([startLine, endLine]) => {
        onAddRange({ path: file.path, startLine, endLine });
      });
  function onClick(event: MouseEvent) {
    const cell = (event.target as HTMLElement).closest("td")?.querySelector("[data-line-old-num]");
    const line = Number(cell?.getAttribute("data-line-old-num") ?? Number.NaN);
    const hunk = file.hunks.find((one) => line >= one.oldStart && line < one.oldStart + Math.max(1, one.oldCount));
    if (hunk) add(hunk);
  }
  const view = useMemo(
    () => ({
      oldFile: { fileName: file.oldPath, content: null },
      newFile: { fileName: file.newPath, content: null },
      hunks: [visible(file.text)],
    }),
    [file],
  );
  const size = file.text.split("\n").length;
  return (
    <article className={classes.file}>
      <header className={classes.fileHead}>
        <h4>
          {file.oldPath !== null && file.newPath !== null && file.oldPath !== file.newPath
            ? `${file.oldPath} → ${file.newPath}`
            : file.path}
          {file.oldPath === null && " (new)"}
          {file.newPath === null && " (deleted)"}
        </h4>
        {!paths.includes(file.path) && (
          <button type="button" className={classes.add} onClick={() => onAddPath(file.path)}>
            + path
          </button>
        )}
        {file.hunks.flatMap((hunk) =>
          hunk.ranges.map(([start, end]) => (
            <button
              key={`${hunk.header} ${start}`}
              type="button"
              className={classes.add}
              disabled={covered(start, end)}
              onClick={() => onAddRange({ path: file.path, startLine: start, endLine: end })}
            >
              {covered(start, end) ? "✓" : "+"} {start === end ? `line ${start}` : `lines ${start}–${end}`}
            </button>
          )),
        )}
      </header>
      <GoldenMarks scope={scope} ranges={own} file={file} />
      {file.binary ? (
        <p className={classes.none}>Binary file.</p>
      ) : size > DRAWN_LINES ? (
        <p className={classes.none}>{size} lines: too long to draw. The buttons above add its ranges.</p>
      ) : (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the buttons in the header do the same by keyboard
        // biome-ignore lint/a11y/noStaticElementInteractions: see above
        <div data-diff={scope} className={classes.diff} onClick={onClick}>
          <DiffView
            data={view}
            diffViewMode={DiffModeEnum.Unified}
            diffViewTheme={scheme}
            diffViewFontSize={12}
            diffViewHighlight
            diffViewWrap
          />
        </div>
      )}
    </article>
  );
}

/** Golden lines are marked by a style rule for their numbers, which is the one thing the diff view lets us see of a line. */
function GoldenMarks({ scope, ranges, file }: { scope: string; ranges: GoldenRange[]; file: DiffFile }) {
  const lines = new Set<number>();
  for (const hunk of file.hunks) {
    for (let line = hunk.oldStart; line < hunk.oldStart + hunk.oldCount; line += 1) {
      if (ranges.some((range) => line >= range.startLine && line <= range.endLine)) lines.add(line);
    }
  }
  if (lines.size === 0) return null;
  const rule = [...lines].map((line) => `[data-diff="${scope}"] td:has([data-line-old-num="${line}"])`).join(",");
  return <style>{`${rule}{box-shadow:inset 4px 0 0 var(--eg-gold)}`}</style>;
}
