"""Many lines at once: a block of JSONL → the bytes of its fields, column by column.

Most lines of a file are written alike: the same fields in the same order, with the same separators. Such a make of
line is a *layout*. A block is decoded by one call, which checks that it is JSON and hands each value over as the bytes it was
written in. Then the block is written again from those values and the text of the layouts between them, and compared. Only
equal bytes count: a repeated key, a blank line, odd spacing or a byte order mark cannot hide, because the copy would not have it.
Lines that are of no known layout are left to the careful reader.
"""

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from operator import is_
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import astuple

from evergold.build.reader import SPACINGS

Values: TypeAlias = tuple[Any, ...]
"""What a line has at each path, UNSET where it has nothing."""
Pieces: TypeAlias = tuple[Any, ...]
"""Bytes, and what can be joined with them."""

_MOST_LAYOUTS, _MOST_GROUPS = 8, 256
"""Of lines with the same fields, and of sets of fields: more of them are no pattern."""
_MOST_LESSONS = 4
_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """One make of line: the places of its values in the order of the line, and the text between them."""

    paths: tuple[str, ...]
    places: tuple[int, ...]
    between: tuple[bytes, ...]
    comma: bytes
    lists: frozenset[int]

    def rows(self, columns: Sequence[Sequence[Any]]) -> tuple[Iterator[Pieces], dict[int, list[bytes]]]:
        """The pieces of each line, and the text of the lists that were taken apart."""
        joined = {place: list(map(self.comma.join, columns[place])) for place in self.places if place in self.lists}
        pieces: list[Iterable[Any]] = [repeat(self.between[0])]
        for place, behind in zip(self.places, self.between[1:], strict=True):
            pieces += (joined.get(place, columns[place]), repeat(behind))
        return zip(*pieces, strict=False), joined


class Alike(NamedTuple):
    """Lines of one layout: where in the block they stand, and their values path by path."""

    layout: Layout
    lines: Sequence[int]
    columns: list[tuple[Any, ...]]
    """Only those of the layout's places count."""
    joined: dict[int, list[bytes]]
    """The text inside the brackets of each list that was taken apart."""

    def only(self, wanted: Sequence[bool]) -> "Alike":
        """The same, for those of its lines that are wanted."""
        columns = list(self.columns)
        for place in self.layout.places:
            columns[place] = tuple(compress(columns[place], wanted))
        joined = {place: list(compress(texts, wanted)) for place, texts in self.joined.items()}
        return Alike(self.layout, tuple(compress(self.lines, wanted)), columns, joined)


class BlockReader:
    """Reads lines whose fields are all declared: path → whether it is a list to take apart."""

    def __init__(self, paths: Mapping[str, bool]) -> None:
        outside = [path for path in paths if not path.startswith("rag.")]
        inside = [path for path in paths if path.startswith("rag.")]
        self.paths = (*outside, "rag", *inside)
        self._lists = frozenset(place for place, path in enumerate(self.paths) if paths.get(path))
        self._no_rag = (UNSET,) * len(inside)
        self._layouts: dict[bytes, list[Layout]] = {}
        rag = _struct("Rag", [(path.removeprefix("rag."), paths[path]) for path in inside])
        top = _struct("Line", [(path, paths[path]) for path in outside], rag)
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(top)
        self._decode = decoder.decode
        self._decode_lines = decoder.decode_lines

    def read(self, block: bytes) -> tuple[int, list[Alike]]:
        """How many lines there are, and those of a known layout. `block` is UTF-8 and ends with a line break."""
        try:
            values = list(map(self._values, self._decode_lines(block)))
        except (msgspec.DecodeError, RecursionError):
            values = []
        rows: list[Pieces] = [()] * len(values)
        found = [self._alike(*group, rows) for group in self._groups(values)]
        if values and b"".join(chain.from_iterable(rows)) == block:
            return len(values), [alike for alike in found if alike]
        lines = list(lines_of(block))
        return len(lines), self._read_lines(lines)

    def _groups(self, values: Sequence[Values]) -> Iterable[tuple[bytes, Sequence[int], list[tuple[Any, ...]]]]:
        """Lines by the fields they lack, as columns. One group is the rule, and found out more cheaply than several."""
        if not values:
            return
        absent = _absent(values[0])
        columns = list(zip(*values, strict=True))
        if all(not any(column) if gone else all(column) for column, gone in zip(columns, absent, strict=True)):
            yield absent, range(len(values)), columns
            return
        for absent, group in _by_absence(enumerate(values)).items():
            yield absent, [number for number, _ in group], list(zip(*(one for _, one in group), strict=True))

    def _alike(
        self, absent: bytes, numbers: Sequence[int], columns: list[tuple[Any, ...]], rows: list[Pieces]
    ) -> Alike | None:
        """The lines of a group as if they were of the layout seen last; `rows` gets what they should then look like."""
        if not self._layouts.get(absent):
            return None
        layout = self._layouts[absent][0]
        written, joined = layout.rows(columns)
        for number, row in zip(numbers, written, strict=True):
            rows[number] = row
        return Alike(layout, numbers, columns, joined)

    def _read_lines(self, lines: Sequence[bytes]) -> list[Alike]:
        """One line after the other, for a block that holds a surprise."""
        values = [(number, one) for number, line in enumerate(lines) if (one := self._try(line)) is not None]
        found: list[Alike] = []
        for absent, group in _by_absence(values).items():
            left = group
            for layout in self._layouts.get(absent, ()):
                alike, left = _proven(layout, left, lines)
                found.append(alike)
            for _ in range(_MOST_LESSONS):
                if not left:
                    break
                learnt = self._learn(absent, lines[left[0][0]])
                if learnt is None:
                    left = left[1:]
                else:
                    alike, left = _proven(learnt, left, lines)
                    found.append(alike)
        return [alike for alike in found if alike.lines]

    def _learn(self, absent: bytes, line: bytes) -> Layout | None:
        """The layout of a line, kept for those that follow; None for a line that is of no simple one."""
        layout = self._layout(line)
        if layout is not None and (absent in self._layouts or len(self._layouts) < _MOST_GROUPS):
            self._layouts[absent] = [layout, *self._layouts.get(absent, ())][:_MOST_LAYOUTS]
        return layout

    def _layout(self, line: bytes) -> Layout | None:
        keys = list(members := _decode_object(line))
        values = self._try(line)
        if "rag" in members:
            at = keys.index("rag")
            keys[at : at + 1] = ["rag{", *(f"rag.{key}" for key in _decode_object(members["rag"])), "}"]
        for comma, colon in SPACINGS:
            places, between = self._template(keys, comma, colon)
            layout = Layout(self.paths, places, between, comma, self._lists)
            if values and places and _proven(layout, [(0, values)], [line])[0].lines:
                return layout
        return None

    def _template(self, keys: Sequence[str], comma: bytes, colon: bytes) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
        """Where the values are, and the text around them, of an object with these keys."""
        places: list[int] = []
        between = [b"{"]
        is_first = True
        for key in keys:
            if key == "}":
                between[-1] += b"}"
                is_first = False
                continue
            name = key.removeprefix("rag.").removesuffix("{")
            between[-1] += (b"" if is_first else comma) + b'"%b"%b' % (name.encode(), colon)
            is_first = key == "rag{"
            if is_first:
                between[-1] += b"{"
                continue
            place = self.paths.index(key)
            places.append(place)
            between[-1] += b"[" if place in self._lists else b""
            between.append(b"]" if place in self._lists else b"")
        between[-1] += b"}\n"
        return tuple(places), tuple(between)

    def _try(self, line: bytes) -> Values | None:
        try:
            return self._values(self._decode(line))
        except (msgspec.DecodeError, RecursionError):
            return None

    def _values(self, record: Any) -> Values:
        top = astuple(record)
        rag = top[-1]
        return top + (self._no_rag if rag is UNSET else astuple(rag))


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines of a range, each with its line break."""
    return iter(io.BytesIO(data))


def _absent(values: Values) -> bytes:
    """A 1 for each path at which a line has nothing."""
    return bytes(map(is_, values, repeat(UNSET)))


def _by_absence(values: Iterable[tuple[int, Values]]) -> dict[bytes, list[tuple[int, Values]]]:
    groups: defaultdict[bytes, list[tuple[int, Values]]] = defaultdict(list)
    for one in values:
        groups[_absent(one[1])].append(one)
    return groups


def _proven(
    layout: Layout, group: Sequence[tuple[int, Values]], lines: Sequence[bytes]
) -> tuple[Alike, list[tuple[int, Values]]]:
    """Those of a group that are of this layout, and those that are not."""
    if not group:
        return Alike(layout, (), [], {}), []
    numbers, values = zip(*group, strict=True)
    columns = list(zip(*values, strict=True))
    rows, joined = layout.rows(columns)
    fits = [b"".join(row) == lines[number] for number, row in zip(numbers, rows, strict=True)]
    alike = Alike(layout, numbers, columns, joined)
    return alike.only(fits), [one for one, fit in zip(group, fits, strict=True) if not fit]


def _struct(name: str, fields: Iterable[tuple[str, bool]], rag: type | None = None) -> type:
    """A msgspec type that takes exactly these keys, each as raw bytes or as a list of raw elements."""
    members: list[tuple[str, Any, Any]] = []
    renamed: dict[str, str] = {}
    for place, (key, is_list) in enumerate(fields):
        members.append((f"f{place}", (list[Raw] if is_list else Raw) | UnsetType, UNSET))
        renamed[f"f{place}"] = key
    if rag is not None:
        members.append(("rag", rag | UnsetType, UNSET))
    return msgspec.defstruct(name, members, rename=renamed, forbid_unknown_fields=True, gc=False)
