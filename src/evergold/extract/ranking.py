"""Ranked paths and line ranges: golden first in the order of the diff, then the rest in the order of discovery.

Something found again only gains a source. Overlapping or adjacent ranges of one path and one source are one range, at the
rank of the first of them.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from evergold.extract.diff import FileDiff
from evergold.model.case import LineRange, RankedPath


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
        self._sources: dict[str, list[str]] = {}
        self._extra: dict[str, dict[str, Any]] = {}

    def add(self, path: str, source: PathSource) -> None:
        sources = self._sources.setdefault(path, [])
        if source not in sources:
            sources.append(str(source))

    def add_golden(self, files: Iterable[FileDiff]) -> None:
        """The files of the golden diff, with how they changed; `atBase` marks a path that base does not have."""
        for file in files:
            for path in paths_of(file):
                self.add(path, PathSource.REVIEW_MERGE_DIFF)
                extra = self._extra.setdefault(path, {"changeType": str(file.type)})
                if path != file.old_path:
                    extra["atBase"] = False

    def ranked(self) -> tuple[RankedPath, ...]:
        return tuple(
            RankedPath(path=path, sources=tuple(sources), extra=self._extra.get(path, {}))
            for path, sources in self._sources.items()
        )


class RangeRanking:
    def __init__(self) -> None:
        self._ranges_of: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
        self._count = 0

    def add(self, path: str, start: int, end: int, source: RangeSource) -> None:
        self._ranges_of.setdefault((path, str(source)), []).append((start, end, self._count))
        self._count += 1

    def ranked(self) -> tuple[LineRange, ...]:
        by_range: dict[tuple[str, int, int], tuple[int, list[str]]] = {}
        merged = [
            (rank, path, start, end, source)
            for (path, source), result in self._ranges_of.items()
            for start, end, rank in _merge(result)
        ]
        # Sorted by rank: the first source that reached a range decides where it stands.
        for rank, path, start, end, source in sorted(merged):
            _, sources = by_range.setdefault((path, start, end), (rank, []))
            sources.append(source)
        return tuple(
            LineRange(path=path, start=start, end=end, sources=tuple(sources))
            for (path, start, end), (_, sources) in by_range.items()
        )


def paths_of(file: FileDiff) -> list[str]:
    """The paths of one file of a diff: of a renamed or copied file the old one first."""
    return list(dict.fromkeys(path for path in (file.old_path, file.new_path) if path is not None))


def _merge(results: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Overlapping and adjacent (start, end, rank) made one, with the best rank."""
    merged: list[tuple[int, int, int]] = []
    for start, end, rank in sorted(results):
        # Adjacent counts as overlapping: 1-3 and 4-6 were read as one passage.
        if merged and start <= merged[-1][1] + 1:
            last = merged[-1]
            merged[-1] = (last[0], max(end, last[1]), min(rank, last[2]))
        else:
            merged.append((start, end, rank))
    return merged
