"""Two builds side by side: which cases came, went, changed (field by field), or moved to another split."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from evergold.build import manifest as manifests
from evergold.errors import BadInput, NotFound
from evergold.model.build import Manifest
from evergold.model.values import canonical_json

# The revision is a hash of the other fields: it changes whenever one of them does, and says nothing more.
_DERIVED = frozenset({"rev"})


class Change(NamedTuple):
    """One field of one case, before and after; `...` stands for a field that was not there."""

    field: str
    before: Any
    after: Any


@dataclass
class Diff:
    """What changed from one build to the other."""

    before: str
    after: str
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: dict[str, list[Change]] = field(default_factory=dict)
    moved: dict[str, tuple[str, str]] = field(default_factory=dict)
    unchanged: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "before": self.before,
            "after": self.after,
            "counts": {
                "added": len(self.added),
                "removed": len(self.removed),
                "changed": len(self.changed),
                "moved": len(self.moved),
                "unchanged": self.unchanged,
            },
            "added": self.added,
            "removed": self.removed,
            "changed": {one: [change._asdict() for change in changes] for one, changes in self.changed.items()},
            "moved": {one: {"from": old, "to": new} for one, (old, new) in self.moved.items()},
        }


class RecordLocation(NamedTuple):
    """Where the line of a record is."""

    split: str
    path: Path
    offset: int
    size: int


class _Name(msgspec.Struct):
    """What tells one line from another; the rest of it is skipped."""

    task_id: str = ""
    id: str = ""
    canary: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_name = msgspec.json.Decoder(_Name).decode


def read_record(line: bytes) -> Any:
    """A line of a build, decoded. A number that no computer's float or integer holds (`1E400`) stays as it was written."""
    return json.loads(line, parse_int=_whole, parse_float=_fraction)


def _whole(digits: str) -> int | str:
    # 19 digits are tested first: converting a text of thousands of digits is quadratic in Python.
    return int(digits) if len(digits) < 20 and abs(int(digits)) < 2**63 else digits


def _fraction(digits: str) -> float | str:
    return number if isfinite(number := float(digits)) else digits


def diff(before: Path, after: Path) -> Diff:
    """Compares two builds given by folder or manifest. Only places and changed lines are held in memory."""
    old_manifest, new_manifest = manifests.read(before), manifests.read(after)
    result = Diff(old_manifest.version, new_manifest.version)
    # Only offsets of the older build are held; lines are read again where the same id occurs.
    old = {one: location for one, location, _ in build_records(before, old_manifest)}
    for one, location, line in build_records(after, new_manifest):
        # What is left over at the end was removed.
        there = old.pop(one, None)
        if there is None:
            result.added.append(one)
            continue
        if there.split != location.split:
            result.moved[one] = (there.split, location.split)
        changes = changes_between(_read(there), line)
        if changes:
            result.changed[one] = changes
        elif there.split == location.split:
            result.unchanged += 1
    result.removed = sorted(old)
    result.added.sort()
    return result


def changes_between(before: bytes, after: bytes) -> list[Change]:
    """The fields that differ, with their values; nested objects by dotted path."""
    if before == after:
        return []
    return [
        Change(name, old, new)
        for name, old, new in _walk("", read_record(before), read_record(after))
        if name not in _DERIVED
    ]


def _walk(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _walk(f"{path}.{key}" if path else key, before.get(key, "..."), after.get(key, "..."))
    elif canonical_json(before) != canonical_json(after):  # for Python, true is 1 and 1 is 1.0
        yield path, before, after


def build_records(path: Path, manifest: Manifest) -> Iterator[tuple[str, RecordLocation, bytes]]:
    """Every record of a build: its id, where it is, and its line; a canary is none."""
    for split, entry in manifest.splits.items():
        result = manifests.locate(path, manifest, entry.path)
        if not result.is_file():
            raise NotFound(f"{result}, a split of {manifest.version}, is missing; `evergold verify` tells more")
        offset = 0
        with result.open("rb") as source:
            for number, line in enumerate(source, 1):
                try:
                    named = _decode_name(line)
                except (ValueError, RecursionError) as problem:
                    raise BadInput(
                        f"{result}, line {number}: no record ({problem}); `evergold verify` tells more"
                    ) from None
                # A line without an id is a canary, or an error.
                if one := named.task_id or named.id:
                    yield one, RecordLocation(split, result, offset, len(line)), line
                elif named.canary is msgspec.UNSET:
                    raise BadInput(f"{result}, line {number}: the record has neither task_id nor id")
                offset += len(line)


def _read(location: RecordLocation) -> bytes:
    with location.path.open("rb") as source:
        source.seek(location.offset)
        return source.read(location.size)
