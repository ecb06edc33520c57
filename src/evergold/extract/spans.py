"""Changed lines of a diff → spans of line numbers on one side of it.

The base side is the one that matters: a retrieval agent works at the base commit, so "what was needed" must be said
in the lines it can see there. A pure insertion has no line at base; it counts the two lines it lands between.
"""

from collections.abc import Iterable
from enum import StrEnum

from evergold.extract.diff import FileDiff, Hunk
from evergold.model.ident import hash_bytes

Span = tuple[int, int]

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
    exists = file.old_path is not None if side is Side.BASE else file.new_path is not None
    if not exists or file.submodule:
        return []
    if _is_empty(file.old_blob if side is Side.BASE else file.new_blob):
        return []
    found: list[Span] = []
    for hunk in file.hunks:
        found += _hunk_spans(hunk, side, context, line_count)
    return merge(found)


def merge(spans: Iterable[Span]) -> list[Span]:
    """Sorted, with overlapping and adjacent spans made one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def base_texts(file: FileDiff) -> dict[int, bytes]:
    """The base lines that the diff itself shows, by number."""
    return {number: text for hunk in file.hunks for number, text in enumerate(hunk.old_lines(), start=hunk.old_start)}


def text_hash(lines: Iterable[bytes]) -> str:
    """The hash that proves a range: of its lines as they stand in the file, line ends included."""
    return hash_bytes(b"".join(lines))


def _is_empty(blob: str | None) -> bool:
    """Whether a blob id, whole or shortened, is that of the empty file."""
    return blob is not None and blob[:4] in _EMPTY_STARTS and any(empty.startswith(blob) for empty in _EMPTY_BLOBS)


def _hunk_spans(hunk: Hunk, side: Side, context: HunkContext, line_count: int | None) -> list[Span]:
    base = side is Side.BASE
    first, count = (hunk.old_start, hunk.old_count) if base else (hunk.new_start, hunk.new_count)
    end = first + count if count else first + 1
    if context is HunkContext.KEEP:
        return [(first, end - 1)] if count else _between(end, end, hunk, line_count)
    found: list[Span] = []
    for old_line, removed, new_line, added in hunk.changes:
        line, changed = (old_line, removed) if base else (new_line, added)
        if changed:
            found.append((line, line + changed - 1))
        else:
            found += _between(line, end, hunk, line_count)
    return found


def _between(line: int, hunk_end: int, hunk: Hunk, line_count: int | None) -> list[Span]:
    """The lines on both sides of a place: `line` is the one after it, if the file goes on there."""
    if line < hunk_end:
        goes_on = True
    elif hunk.has_context:
        goes_on = False
    else:
        goes_on = line_count is None or line <= line_count
    start, end = max(line - 1, 1), line if goes_on else line - 1
    return [(start, end)] if start <= end else []
