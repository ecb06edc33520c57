"""The three functions of `_lines.c`, in Python: what they mean, and what is used where nothing could be compiled.

`survey` may leave out any line (its make is then None), and the compiled one leaves out a little more: a key written with
escapes, nesting beyond 64 levels. Of a line that both take they say the same.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from evergold.build.contexts import begins_plainly, ends_plainly, plainly_trimmed
from evergold.build.reader import Refusal, lines_of, members_of, require_utf8


class Line(NamedTuple):
    """The bytes at each place, and what they are."""

    values: list[bytes | None]
    make: bytes


Table: TypeAlias = list[Line | None]
Piece: TypeAlias = bytes | int

MOST_ELEMENTS = 255
_ABSENT = b"\0\0"
_SINGLES = {ord("{"): b"o\0", ord("n"): b"n\0"} | dict.fromkeys(b"-0123456789tf", b"v\0")
_QUOTE, _BRACKET, _BARE = b'"[B'
_LABEL = re.compile(rb'"\[\d+\]')
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


def survey(block: bytes, outer: tuple[bytes, ...], inner: tuple[bytes, ...]) -> tuple[Table, list[bytes | None]]:
    """The values of each line at each place, and its make: two bytes a place, a kind and the length of a list."""
    table: Table = []
    for line in lines_of(block):
        try:
            values = _values(line.removesuffix(b"\n").removesuffix(b"\r"), outer, inner)
            table.append(Line(values, b"".join([_ABSENT if value is None else _made(value) for value in values])))
        except Refusal:
            table.append(None)
    return table, [line and line.make for line in table]


def pick(table: Table, index: int) -> list[bytes | None]:
    """The bytes that each line has at a place."""
    return [line.values[index] if line else None for line in table]


def weave(table: Table, recipes: Sequence[bytes | tuple[Piece, ...] | None]) -> bytes:
    """New lines: for each of the table's lines none, the given bytes, or the pieces of a recipe."""
    written: list[bytes] = []
    for line, recipe in zip(table, recipes, strict=True):
        if isinstance(recipe, bytes):
            written.append(recipe)
        elif recipe is not None:
            written += [piece if isinstance(piece, bytes) else _written(line, piece) for piece in recipe]
    return b"".join(written)


def _values(line: bytes, outer: tuple[bytes, ...], inner: tuple[bytes, ...]) -> list[bytes | None]:
    require_utf8(line)
    members = members_of(line)
    values = _values_of(members, outer)
    opened = values[-1] or b"null"
    # A carriage return inside a line, or `rag` that is neither an object nor null, is left to the careful reader.
    if not members or b"\r" in line or opened[:1] not in (b"{", b"n"):
        raise Refusal("not taken")
    return values + _values_of({} if opened == b"null" else members_of(opened), inner)


def _values_of(members: Mapping[str, bytes], names: tuple[bytes, ...]) -> list[bytes | None]:
    indexes = _indexes(names)
    values: list[bytes | None] = [None] * len(names)
    for name, value in members.items():
        # A field that nobody knows must end up under `extra`, which only the careful way does until it has learned it.
        if name not in indexes:
            raise Refusal("not taken")
        values[indexes[name]] = value
    return values


@lru_cache(maxsize=16)
def _indexes(names: tuple[bytes, ...]) -> dict[str, int]:
    return {_decode_text(b'"%b"' % name): index for index, name in enumerate(names)}


def _made(value: bytes) -> bytes:
    """What is at a place: null, a text (t; b if it may be blank), an object, another value, or a list and its length."""
    first = value[0]
    if first == _QUOTE:
        return b"t\0" if begins_plainly(value) else b"b\0"
    if first != _BRACKET:
        return _SINGLES[first]
    elements = list(map(bytes, _decode_list(value)))
    if len(elements) > MOST_ELEMENTS:
        raise Refusal("not taken")
    return b"%c%c" % (_kind_of_list(elements), len(elements))


def _kind_of_list(elements: list[bytes]) -> bytes:
    """Empty, Objects, Mixed, or Texts; of these Numbered (all labelled and trimmed) and Bare (none labelled, once trimmed)."""
    first = {element[0] for element in elements}
    if first != {_QUOTE}:
        return b"e" if not first else b"O" if first == {ord("{")} else b"M"
    texts = elements
    if not _are_plain(texts):
        texts = list(map(plainly_trimmed, elements))
        if not _are_plain(texts):
            return b"T"
    labelled = {_LABEL.match(text) is not None for text in texts}
    if labelled == {False}:
        return b"B"
    return b"N" if labelled == {True} and texts == elements else b"T"


def _are_plain(texts: Sequence[bytes]) -> bool:
    return all(map(begins_plainly, texts)) and all(map(ends_plainly, texts))


def _written(line: Line | None, index: int) -> bytes:
    at = index if index >= 0 else ~index
    value = line.values[at] if line else None
    if line is None or value is None or (index < 0 and line.make[2 * at] != _BARE):
        raise ValueError(f"nothing to be written at place {index}")
    if index >= 0:
        return value
    texts = [plainly_trimmed(bytes(text))[1:] for text in _decode_list(value)]
    return b"[%b]" % b",".join([b'"[%d] %b' % numbered for numbered in enumerate(texts, 1)])
