"""The straight way from many lines to their records: a recipe worked out once per make of line, then only bytes put side by side.

A line's make tells what it has at each place: a text, a list of six objects, nothing. Lines of one make and one task type become
records in the same way, so what is decided for the first of them holds for all. A recipe is only given where every value is
plainly of the kind its column wants; for any doubt (a null, a blank text, lists that do not pair up) there is none,
and the careful way decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from evergold.build.lines import Piece
from evergold.build.splits import ALIGNED, EMPTY, LIST_KINDS, Column, Kind

OPENED = "rag"
_ABSENT, _NULL, _BLANK, _BARE = b"\0nbB"
_FITTING: Mapping[Kind, bytes] = {
    "text": b"tb",
    "object": b"o",
    "any": b"tbovenNBTOM",
    "texts": b"eNBT",
    "contexts": b"eNB",
    "objects": b"eO",
}
"""What may be at a place from which a column of each kind is filled."""
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Fields:
    """The fields that lines are searched for. A path's place is that of its value in a surveyed line."""

    outside: tuple[str, ...]
    inside: tuple[str, ...]

    @cached_property
    def outer(self) -> tuple[bytes, ...]:
        return tuple(map(_text_of, (*self.outside, OPENED)))

    @cached_property
    def inner(self) -> tuple[bytes, ...]:
        return tuple(map(_text_of, self.inside))

    @cached_property
    def indexes(self) -> dict[str, int]:
        paths = (*self.outside, OPENED, *(f"{OPENED}.{name}" for name in self.inside))
        return {path: index for index, path in enumerate(paths)}

    def with_paths(self, paths: Sequence[str]) -> "Fields":
        """The same, and these."""
        known = self.indexes
        new = [path for path in paths if path not in known]
        inside = [path.removeprefix(f"{OPENED}.") for path in new if path.startswith(f"{OPENED}.")]
        outside = [path for path in new if not path.startswith(f"{OPENED}.")]
        return Fields((*self.outside, *outside), (*self.inside, *inside))


def recipe_for(make: bytes, fields: Fields, task_type: str, columns: Sequence[Column]) -> tuple[Piece, ...] | None:
    """How lines of this make become records; None where that takes a closer look at each."""
    # Two bytes a place: a kind, and for lists the length.
    given = {path: index for path, index in fields.indexes.items() if make[2 * index] != _ABSENT}
    # Sorted by path: fields that no column takes are written under `extra` in this order.
    left = dict(sorted(given.items()))
    pieces: list[Piece] = [b'{"task_id":', left.pop("task_id"), b',"task_type":' + _encode(task_type)]
    lengths: set[int] = set()
    del left["task_type"]
    left.pop(OPENED, None)
    for column in columns:
        source = _first_filled(column, given, make)
        key = b",%b:" % _encode(column.name)
        if source is None:
            if column.required:
                return None
            if not column.optional:
                pieces.append(key + EMPTY[column.kind])
            continue
        left.pop(source, None)
        index = given[source]
        kind, count = make[2 * index : 2 * index + 2]
        if kind not in _FITTING[column.kind] or (column.required and kind == _BLANK):
            return None
        if column.name in ALIGNED and column.kind in LIST_KINDS and count:
            lengths.add(count)
        # ~index asks for the list with labels put in, index for the value as it stands.
        pieces += (key, ~index if column.kind == "contexts" and kind == _BARE else index)
    # Lists that must pair up have different lengths: the careful way names them.
    if len(lengths) > 1:
        return None
    return (*pieces, *_extra(left), b"}\n")


def _first_filled(column: Column, given: Mapping[str, int], make: bytes) -> str | None:
    return next((path for path in column.sources if path in given and make[2 * given[path]] != _NULL), None)


def _extra(left: Mapping[str, int]) -> list[Piece]:
    """What no column takes, in the order of its names."""
    if not left:
        return []
    inside = {path: index for path, index in left.items() if path.startswith(f"{OPENED}.")}
    outside = {path: index for path, index in left.items() if path not in inside}
    pieces = [b',"extra":{', *_members(outside)]
    if inside:
        names = {path.removeprefix(f"{OPENED}."): index for path, index in inside.items()}
        pieces += [b',"%b":{' % OPENED.encode() if outside else b'"%b":{' % OPENED.encode(), *_members(names), b"}"]
    return [*pieces, b"}"]


def _members(indexes: Mapping[str, int]) -> list[Piece]:
    pieces: list[Piece] = []
    for number, (name, index) in enumerate(indexes.items()):
        pieces += (b"%b%b:" % (b"," if number else b"", _encode(name)), index)
    return pieces


def _text_of(name: str) -> bytes:
    """A key as it is written, without its quotation marks."""
    return _encode(name)[1:-1]
