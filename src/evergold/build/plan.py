"""The straight way from many lines to their records: a plan worked out once per layout, then only bytes put side by side.

For lines of one layout and one task type the plan knows which field feeds which column and has the constant pieces of the
record ready. What is asked of a value is asked of a whole column at a time. A record is only written when its every value is
plainly of the kind its column wants; for any doubt (a null, a blank text, a list of other things) there is none, and the
careful way decides.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Raw

from evergold.build.contexts import PLAIN_START, is_blank, numbered_texts
from evergold.build.layout import Alike, Layout, Pieces
from evergold.build.splits import ALIGNED, EMPTY, Column, Kind

_OPENING: dict[Kind, bytes] = {"text": b'"', "object": b"{", "any": b'"{[-0123456789tf'}
"""What a value that is given begins with; null is none."""
_first, _second = itemgetter(0), itemgetter(1)


class _AnyObject(msgspec.Struct, gc=False):
    """Some JSON object; its fields are skipped."""


_ELEMENT: dict[Kind, Any] = {"texts": str, "objects": _AnyObject}
_DECODERS: dict[Kind, tuple[Callable[[bytes], list[list[Any]]], Callable[[Raw], list[Any]]]] = {
    kind: (msgspec.json.Decoder(list[list[element]]).decode, msgspec.json.Decoder(list[element]).decode)  # type: ignore[valid-type]
    for kind, element in _ELEMENT.items()
}
"""Takes many lists apart, or one, if each element is of the kind the column wants."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How lines of one layout become records of one split. Fields are known by their place among the line's values."""

    pieces: tuple[int | bytes, ...]
    """Places of values, and what stands between them in a record."""
    singles: tuple[tuple[int, bytes, bool], ...]
    """Place, the bytes the value may begin with, and whether it must not be blank."""
    lists: tuple[tuple[int, Kind, bool], ...]
    """Place, kind, and whether its length must be that of the contexts."""
    contexts: int | None

    def write(self, alike: Alike) -> tuple[list[Pieces], set[int]]:
        """A record in pieces for each line, and the places of those that are not to be used."""
        columns = alike.columns
        doubtful: set[int] = set()
        for place, openings, required in self.singles:
            doubtful.update(_not_plain(columns[place], openings, required))
        lengths: list[int | None] | None = None
        texts: Sequence[bytes | None] = ()
        if self.contexts is not None:
            lengths = list(map(len, columns[self.contexts]))
            texts = numbered_texts(columns[self.contexts], alike.joined[self.contexts])
            if None in texts:
                doubtful.update(place for place, text in enumerate(texts) if text is None)
        for place, kind, is_aligned in self.lists:
            counts = _counts(columns[place], kind)
            if None in counts:
                doubtful.update(one for one, count in enumerate(counts) if count is None)
            if is_aligned:
                lengths = lengths or counts
                if counts != lengths:
                    doubtful.update(
                        one for one, pair in enumerate(zip(counts, lengths, strict=True)) if len(set(pair)) > 1
                    )
        sources: list[Iterable[Any]] = []
        for piece in self.pieces:
            if isinstance(piece, bytes):
                sources.append(repeat(piece))
            else:
                sources.append(texts if piece == self.contexts else columns[piece])
        return list(zip(*sources, strict=False)), doubtful


def _not_plain(column: Sequence[Raw], openings: bytes, required: bool) -> Iterable[int]:
    """The values that do not begin as they must, or that must not be blank and are."""
    views: list[memoryview] = list(map(memoryview, column))  # type: ignore[arg-type]
    firsts = bytes(map(_first, views))
    if firsts.translate(None, openings):
        return [
            place
            for place, byte in enumerate(firsts)
            if byte not in openings or (required and is_blank(bytes(column[place])))
        ]
    if not required:
        return ()
    seconds = bytes(map(_second, views))
    if not seconds.translate(None, PLAIN_START):
        return ()
    return [place for place, byte in enumerate(seconds) if byte not in PLAIN_START and is_blank(bytes(column[place]))]


def _counts(column: Sequence[Raw], kind: Kind) -> list[int | None]:
    """How many elements each list has; None for what is no list of this kind."""
    decode_all, decode = _DECODERS[kind]
    try:
        return list(map(len, decode_all(b"[%b]" % b",".join(column))))
    except msgspec.ValidationError:
        return [_count(value, decode) for value in column]


def _count(value: Raw, decode: Callable[[Raw], list[Any]]) -> int | None:
    try:
        return len(decode(value))
    except msgspec.ValidationError:
        return None


def plan_for(layout: Layout, task_type: str, columns: Sequence[Column]) -> Plan | None:
    """None when lines of this layout lack a required field or bring one that no column takes."""
    present = {layout.paths[place]: place for place in layout.places}
    left = present.keys() - {"task_id", "task_type"}
    pieces: list[int | bytes] = [b'{"task_id":', present["task_id"], b',"task_type":' + msgspec.json.encode(task_type)]
    singles = [(present["task_id"], b'"', True)]
    lists: list[tuple[int, Kind, bool]] = []
    contexts = None
    for column in columns:
        source = next((source for source in column.sources if source in present), None)
        key = b',"%b":' % column.name.encode()
        if source is None:
            if column.required:
                return None
            if not column.optional:
                pieces.append(key + EMPTY[column.kind])
            continue
        left.discard(source)
        place = present[source]
        if (column.kind == "contexts") != (place in layout.lists) or (place == contexts is not None):
            return None
        if column.kind == "contexts":
            if contexts is not None:
                return None
            contexts = place
            pieces += (key + b"[", place, b"]")
            continue
        pieces += (key, place)
        if column.kind in _ELEMENT:
            check = (place, column.kind, column.name in ALIGNED)
            if (place, column.kind, True) not in lists and check not in lists:  # one list may fill two columns
                lists.append(check)
        elif column.kind in _OPENING:
            singles.append((place, _OPENING[column.kind], column.required))
    if left:
        return None
    pieces.append(b"}\n")
    return Plan(tuple(pieces), tuple(singles), tuple(lists), contexts)
