"""Changed lines of a diff → spans of line numbers on one side of it.

The base side is the one that matters: a retrieval agent works at the base commit, so "what was needed" must be said
in the lines it can see there. A pure insertion has no line at base; it counts the two lines it lands between.
"""

from collections.abc import Iterable
from enum import StrEnum

from evergold.extract.diff import FileDiff, Hunk, runs
from evergold.model.ident import hash_bytes

Span = tuple[int, int]

# The empty file in repositories of SHA-1 and of SHA-256.
_EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
_EMPTY_STARTS = tuple(blob[:4] for blob in _EMPTY_BLOBS)


class Side(StrEnum):
    BASE = "base"
    HEAD = "head"


class HunkContext(StrEnum):
    TRIM = "trim"
    KEEP = "keep"


def spans_of(
    file: FileDiff,
    side: Side = Side.BASE,
    context: HunkContext = HunkContext.TRIM,
    line_count: int | None = None,
) -> list[Span]:
    """The changed lines of one file, merged and in order; none where the file does not exist on that side.

    `line_count` is the length of the file on that side, where it is known. A diff with context lines does not need it;
    one without (`-U0`) does, to tell an insertion before the end of the file from one at the end.
    """
    of_base = side is Side.BASE
    path, blob = (file.old_path, file.old_blob) if of_base else (file.new_path, file.new_blob)
    if path is None or file.submodule or _is_empty(blob):
        return []
    hunk_spans = _changed_spans if context is HunkContext.TRIM else _whole_spans
    results: list[Span] = []
    for hunk in file.hunks:
        results += hunk_spans(hunk, of_base, line_count)
    return merge(results)


def merge(spans: Iterable[Span]) -> list[Span]:
    """Sorted, with overlapping and adjacent spans made one."""
    ordered = sorted(spans)
    if len(ordered) < 2:
        return ordered
    merged: list[Span] = []
    first, last = ordered[0]
    for start, end in ordered:
        if start > last + 1:
            merged.append((first, last))
            first, last = start, end
        elif end > last:
            last = end
    merged.append((first, last))
    return merged


def base_texts(file: FileDiff) -> dict[int, bytes]:
    """The base lines that the diff itself shows, by number."""
    return {number: text for hunk in file.hunks for number, text in enumerate(hunk.old_lines(), start=hunk.old_start)}


def text_hash(lines: Iterable[bytes]) -> str:
    """The hash that proves a range: of its lines as they stand in the file, line ends included."""
    return hash_bytes(b"".join(lines))


def _is_empty(blob: str | None) -> bool:
    """Whether a blob id, whole or shortened, is that of the empty file."""
    # Four digits first: the whole comparison runs once in 65,536 files.
    return blob is not None and blob[:4] in _EMPTY_STARTS and any(empty.startswith(blob) for empty in _EMPTY_BLOBS)


def _changed_spans(hunk: Hunk, of_base: bool, line_count: int | None) -> list[Span]:
    results: list[Span] = []
    line = hunk.first_lines[not of_base]
    for at, removed, added in runs(hunk.signs):
        here, elsewhere = (removed, added) if of_base else (added, removed)
        first = line + at
        if here:
            results.append((first, first + here - 1))
        else:
            results += _between(first, _end(hunk, of_base), hunk, line_count)
        # Lines of the other side stand in the signs but have no number on this one.
        line -= elsewhere
    return results


def _whole_spans(hunk: Hunk, of_base: bool, line_count: int | None) -> list[Span]:
    """The hunk with its unchanged lines."""
    first, end = hunk.first_lines[not of_base], _end(hunk, of_base)
    return [(first, end - 1)] if first < end else _between(end, end, hunk, line_count)


def _end(hunk: Hunk, of_base: bool) -> int:
    """The line after the hunk."""
    return hunk.first_lines[not of_base] + (hunk.old_count if of_base else hunk.new_count)


def _between(line: int, hunk_end: int, hunk: Hunk, line_count: int | None) -> list[Span]:
    """The lines on both sides of a place: `line` is the one after it, if the file goes on there."""
    if line < hunk_end:
        goes_on = True
    elif hunk.has_context:
        goes_on = False
    else:
        goes_on = line_count is None or line <= line_count
    # An insertion before the first line has no line before it.
    start, end = max(line - 1, 1), line if goes_on else line - 1
    return [(start, end)] if start <= end else []
