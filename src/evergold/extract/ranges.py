"""Lines of a diff as ranked ranges of the base commit, each with a proof that can be checked again later.

The base side is the one that matters: a retrieval agent works at the base commit, so "what was needed" must be said
in the lines it can see there. A pure insertion has no line at base; it counts the two lines it lands between.

Paths and ranges are ranked golden first in the order of the diff, then the rest in the order of discovery. Something
found again only gains a source. Overlapping or adjacent ranges of one path and one source are one range, at the rank
of the first of them.

Each golden range carries its proof: the blob at base it lies in, and a hash of its text. `prove` checks a row against
the repository: the commit, the paths, the lines, the text. Golden entries must prove. What the agent only read is
looked up too, but may name files of its own making: such an entry is counted and makes no row stale.
"""

from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from evergold.extract.diff import FileDiff, Hunk, runs
from evergold.model.case import LineRange, RankedPath
from evergold.model.values import hash_bytes
from evergold.repo.git import Repo, split_lines

Span = tuple[int, int]

# The empty file in repositories of SHA-1 and of SHA-256.
_EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


class Side(StrEnum):
    BASE = "base"
    HEAD = "head"


class HunkContext(StrEnum):
    TRIM = "trim"
    KEEP = "keep"


def spans_of(
    file: FileDiff, side: Side = Side.BASE, context: HunkContext = HunkContext.TRIM, line_count: int | None = None
) -> list[Span]:
    """The changed lines of one file, merged and in order; none where the file does not exist on that side.

    `line_count` is the length of the file on that side, where it is known. A diff with context lines does not need it;
    one without (`-U0`) does, to tell an insertion before the end of the file from one at the end.
    """
    of_base = side is Side.BASE
    path, blob = (file.old_path, file.old_blob) if of_base else (file.new_path, file.new_blob)
    # The id of the empty file may be shortened.
    empty = blob is not None and any(whole.startswith(blob) for whole in _EMPTY_BLOBS)
    if path is None or file.submodule or empty:
        return []
    trim = context is HunkContext.TRIM
    return merge(span for hunk in file.hunks for span in _hunk_spans(hunk, of_base, trim, line_count))


def merge(spans: Iterable[Span]) -> list[Span]:
    """Sorted, with overlapping and adjacent spans made one."""
    return [(start, end) for start, end, _ in _merge((start, end, 0) for start, end in spans)]


def text_hash(lines: Iterable[bytes]) -> str:
    """The hash that proves a range: of its lines as they stand in the file, line ends included."""
    return hash_bytes(b"".join(lines))


def _hunk_spans(hunk: Hunk, of_base: bool, trim: bool, line_count: int | None) -> list[Span]:
    """The changed lines of a hunk or, not trimmed, the hunk with its unchanged lines."""
    results: list[Span] = []
    line = hunk.first_lines[not of_base]
    end = line + (hunk.old_count if of_base else hunk.new_count)  # the line after the hunk
    if not trim:
        return [(line, end - 1)] if line < end else _list_sides(end, end, hunk, line_count)
    for at, removed, added in runs(hunk.signs):
        here, elsewhere = (removed, added) if of_base else (added, removed)
        first = line + at
        if here:
            results.append((first, first + here - 1))
        else:
            results += _list_sides(first, end, hunk, line_count)
        # Lines of the other side stand in the signs but have no number on this one.
        line -= elsewhere
    return results


def _list_sides(line: int, hunk_end: int, hunk: Hunk, line_count: int | None) -> list[Span]:
    """The lines on both sides of a place: `line` is the one after it, if the file goes on there."""
    goes_on = line < hunk_end or (not hunk.has_context and (line_count is None or line <= line_count))
    # An insertion before the first line has no line before it.
    start, end = max(line - 1, 1), line if goes_on else line - 1
    return [(start, end)] if start <= end else []


class PathSource(StrEnum):
    REVIEW_MERGE_DIFF = "review_merge_diff"
    TOOL_CALL_ARGS = "tool_call_args"
    TOOL_CALL_RESULT = "tool_call_result"
    DIFF = "diff"


class RangeSource(StrEnum):
    GOLDEN_DIFF = "golden_diff"
    TOOL_CALL_ARGS = "tool_call_args"
    TOOL_CALL_RESULT = "tool_call_result"


class PathRanking:
    def __init__(self) -> None:
        self._sources: dict[str, dict[str, None]] = {}
        self._extra: dict[str, dict[str, Any]] = {}

    def add(self, path: str, source: PathSource) -> None:
        self._sources.setdefault(path, {})[str(source)] = None

    def add_golden(self, files: Iterable[FileDiff]) -> None:
        """The files of the golden diff, with how they changed; `atBase` marks a path that base does not have."""
        for file in files:
            for path in paths_of(file):
                self.add(path, PathSource.REVIEW_MERGE_DIFF)
                extra = self._extra.setdefault(path, {"changeType": str(file.type)})
                if path != file.old_path:
                    extra["atBase"] = False

    def rank(self) -> tuple[RankedPath, ...]:
        return tuple(
            RankedPath(path=path, sources=tuple(sources), extra=self._extra.get(path, {}))
            for path, sources in self._sources.items()
        )


class RangeRanking:
    def __init__(self) -> None:
        self._ranges_of: dict[tuple[str, str], list[tuple[int, int, int]]] = defaultdict(list)
        self._count = 0

    def add(self, path: str, start: int, end: int, source: RangeSource) -> None:
        self._ranges_of[path, str(source)].append((start, end, self._count))
        self._count += 1

    def rank(self) -> tuple[LineRange, ...]:
        by_range: dict[tuple[str, int, int], list[str]] = {}
        merged = [
            (rank, path, start, end, source)
            for (path, source), result in self._ranges_of.items()
            for start, end, rank in _merge(result)
        ]
        # Sorted by rank: the first source that reached a range decides where it stands.
        for _, path, start, end, source in sorted(merged):
            by_range.setdefault((path, start, end), []).append(source)
        return tuple(
            LineRange(path=path, start=start, end=end, sources=tuple(sources))
            for (path, start, end), sources in by_range.items()
        )


def paths_of(file: FileDiff) -> list[str]:
    """The paths of one file of a diff: of a renamed or copied file the old one first."""
    return list(dict.fromkeys(path for path in (file.old_path, file.new_path) if path is not None))


def _merge(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Overlapping and adjacent (start, end, rank) made one, with the best rank."""
    merged: list[tuple[int, int, int]] = []
    for start, end, rank in sorted(ranges):
        # Adjacent counts as overlapping: 1-3 and 4-6 were read as one passage.
        if merged and start <= merged[-1][1] + 1:
            last = merged[-1]
            merged[-1] = (last[0], max(end, last[1]), min(rank, last[2]))
        else:
            merged.append((start, end, rank))
    return merged


def with_proof(ranges: Iterable[LineRange], repo: Repo, commit: str, proved: str) -> tuple[LineRange, ...]:
    """Ranges with source `proved` get blob and hash. All are cut to the length of their file at the commit.

    A range that lies behind the end of its file, or in a file the commit does not have, stays as it was found.
    """
    # Several ranges lie in one file, which is read once.
    files: dict[str, tuple[str, list[bytes]]] = {}
    done: list[LineRange] = []
    for item in ranges:
        if item.path not in files:
            result = repo.objects.read_at(commit, item.path)
            blob = result.id if result and result.kind == "blob" else ""
            files[item.path] = blob, split_lines(repo.objects.read(blob)) if blob else []
        blob, lines = files[item.path]
        if item.start > len(lines):
            done.append(item)
            continue
        end = min(item.end, len(lines))
        update: dict[str, object] = {"end": end}
        if proved in item.sources:
            update |= {"blob": blob, "text_hash": text_hash(lines[item.start - 1 : end])}
        done.append(item.model_copy(update=update))
    return tuple(done)


def why_range_is_wrong(item: LineRange, repo: Repo, commit: str) -> str | None:
    """Say why a range is not what the commit holds; None where it is."""
    where = f"{item.path}:{item.start}-{item.end}"
    result = repo.objects.read_at(commit, item.path)
    if result is None or result.kind != "blob":
        return f"{where}: the file is not in commit {commit[:12]}"
    if item.blob and not result.id.startswith(item.blob):
        return f"{where}: the file is another one than it was (blob {result.id[:12]}, not {item.blob[:12]})"
    lines = split_lines(repo.objects.read(result.id))
    if item.end > len(lines):
        return f"{where}: the file has only {len(lines)} lines"
    if item.text_hash and text_hash(lines[item.start - 1 : item.end]) != item.text_hash:
        return f"{where}: the text of these lines is another one"
    return None
