"""The straight way from a line to its record: a plan worked out once per shape, then only bytes put side by side.

Most lines of a file have the same fields. For such a shape the plan knows which field feeds which column and has the
constant pieces of the record ready. It only writes a record whose every value is plainly of the kind its column wants; for any
doubt (a null, a blank text, a list of other things) it answers None, and the careful way decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Raw

from evergold.build.contexts import PLAIN_EDGE, numbered_pieces
from evergold.build.reader import Shape, Values
from evergold.build.splits import ALIGNED, EMPTY, Column, Kind

_QUOTE, _BRACE = ord('"'), ord("{")
_OPENING: dict[Kind, int] = {"text": _QUOTE, "object": _BRACE}


class _AnyObject(msgspec.Struct):
    """Some JSON object; its fields are skipped."""


Elements = Callable[[Raw], list[Any]]
_ELEMENTS: dict[Kind, Elements] = {
    "texts": msgspec.json.Decoder(list[str]).decode,
    "objects": msgspec.json.Decoder(list[_AnyObject]).decode,
}
"""Takes a list apart if each element is of the kind the column wants."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a line of one shape becomes a record of one split. Fields are known by their place among the line's values."""

    shape: Shape
    constants: tuple[bytes, ...]
    """What stands between the values of a record."""
    head: Callable[[Values], tuple[Any, ...]]
    """Picks the pieces of the record up to its contexts, from the values and the constants behind them."""
    tail: Callable[[Values], tuple[Any, ...]]
    singles: tuple[tuple[int, int, bool], ...]
    """Place, the byte the value must begin with, and whether it must not be blank."""
    lists: tuple[tuple[int, Elements, bool], ...]
    """Place, what takes it apart, and whether its length must be that of the contexts."""
    contexts: int | None

    def write(self, line: bytes, values: Values) -> bytes | None:
        if not self.shape.accounts_for(line, values):
            return None
        for place, opening, required in self.singles:
            value = memoryview(values[place])
            if value[0] != opening or (required and value[1] not in PLAIN_EDGE):
                return None
        lengths = set()
        numbered: Sequence[bytes | memoryview] | None = ()
        if self.contexts is not None:
            contexts = values[self.contexts]
            lengths.add(len(contexts))
            numbered = numbered_pieces(contexts)
        for place, elements, is_aligned in self.lists:
            try:
                count = len(elements(values[place]))
            except msgspec.ValidationError:
                return None
            if is_aligned:
                lengths.add(count)
        if numbered is None or len(lengths) > 1:
            return None
        pool = values + self.constants
        return b"".join((*self.head(pool), *numbered, *self.tail(pool)))


def plan_for(shape: Shape, task_type: str, columns: Sequence[Column]) -> Plan | None:
    """None when lines of this shape lack a required field or bring one that no column takes."""
    left = {path for path in shape.paths if path} - {"task_id", "task_type", "rag"}
    pieces: list[int | bytes] = [b'{"task_id":', 0, b',"task_type":"%b"' % task_type.encode()]
    singles = [(0, _QUOTE, True)]
    lists: list[tuple[int, Elements, bool]] = []
    contexts = split = None
    for column in columns:
        source = next((source for source in column.sources if source in shape.paths), None)
        key = b',"%b":' % column.name.encode()
        if source is None:
            if column.required:
                return None
            if not column.optional:
                pieces.append(key + EMPTY[column.kind])
            continue
        left.discard(source)
        place = shape.paths.index(source)
        if (column.kind == "contexts") != (place in shape.lists):
            return None
        if place in shape.lists:
            if contexts is not None:
                return None
            contexts, split = place, len(pieces) + 1
            pieces += (key + b"[", b"]")
            continue
        pieces += (key, place)
        if column.kind in _ELEMENTS:
            check = (place, _ELEMENTS[column.kind], column.name in ALIGNED)
            if check not in lists:  # one list may fill two columns
                lists.append(check)
        elif column.kind in _OPENING:
            singles.append((place, _OPENING[column.kind], column.required))
    if left:
        return None
    pieces.append(b"}\n")
    return _assembled(shape, pieces, split or len(pieces), (tuple(singles), tuple(lists), contexts))


def _assembled(shape: Shape, pieces: Sequence[int | bytes], split: int, checks: tuple[Any, Any, int | None]) -> Plan:
    """Every piece gets a place: a value its own, a constant one behind the values."""
    constants: list[bytes] = []
    places: list[int] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            places.append(len(shape.paths) + len(constants))
            constants.append(piece)
        else:
            places.append(piece)
    singles, lists, contexts = checks
    return Plan(shape, tuple(constants), _picking(places[:split]), _picking(places[split:]), singles, lists, contexts)


def _picking(places: Sequence[int]) -> Callable[[Values], tuple[Any, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda pool: tuple(pool[place] for place in places)
