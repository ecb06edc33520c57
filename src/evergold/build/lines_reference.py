"""The three functions of `_lines.c`, in Python: what they mean, and what is used where nothing could be compiled.

`survey` may leave out any line (its make is then None), and the compiled one leaves out a little more: a key written with
escapes, nesting beyond 64 levels. Of a line that both take they say the same.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Raw

from evergold.build.contexts import begins_plainly, ends_plainly, plainly_trimmed
from evergold.build.reader import Refusal, lines_of, members_of, require_utf8

Row: TypeAlias = list[bytes | None]
Table: TypeAlias = list[Row | None]
Piece: TypeAlias = bytes | int

MOST_ELEMENTS = 255
_LABEL = re.compile(rb'"\[\d+\]')
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


def survey(block: bytes, outer: tuple[bytes, ...], inner: tuple[bytes, ...]) -> tuple[Table, list[bytes | None]]:
    """The values of each line at each place, and its make: two bytes a place, a kind and the length of a list."""
    table: Table = []
    makes: list[bytes | None] = []
    for line in lines_of(block):
        try:
            row = _row(line.removesuffix(b"\n").removesuffix(b"\r"), outer, inner)
            makes.append(b"".join(map(_make, row)))
        except Refusal:
            row = None
            makes.append(None)
        table.append(row)
    return table, makes


def pick(table: Table, place: int) -> list[bytes | None]:
    """The bytes that each line has at a place."""
    return [row[place] if row else None for row in table]


def weave(table: Table, recipes: Sequence[bytes | tuple[Piece, ...] | None]) -> bytes:
    """New lines: for each of the table's lines none, the given bytes, or the pieces of a recipe."""
    written: list[bytes] = []
    for row, recipe in zip(table, recipes, strict=True):
        if isinstance(recipe, bytes):
            written.append(recipe)
        elif recipe is not None:
            written += [piece if isinstance(piece, bytes) else _value(row or [], piece) for piece in recipe]
    return b"".join(written)


def _row(line: bytes, outer: Sequence[bytes], inner: Sequence[bytes]) -> Row:
    require_utf8(line)
    members = members_of(line)
    if not members or b"\r" in line:
        raise Refusal("not taken")
    opened = members.get(outer[-1].decode(), b"null")
    if opened[:1] not in (b"{", b"n"):
        raise Refusal("not taken")
    return [*_values(members, outer), *_values(members_of(opened) if opened != b"null" else {}, inner)]


def _values(members: Mapping[str, bytes], names: Sequence[bytes]) -> Row:
    written = {_encode(name)[1:-1]: value for name, value in members.items()}
    if not written.keys() <= set(names):
        raise Refusal("not taken")
    return [written.get(name) for name in names]


def _make(value: bytes | None) -> bytes:
    """What is at a place: absent, null, a text (t; b if it may be blank), an object, another value, or a list."""
    if value is None:
        return b"\0\0"
    match value[:1]:
        case b'"':
            return b"t\0" if begins_plainly(value) else b"b\0"
        case b"[":
            elements = list(map(bytes, _decode_list(value)))
            if len(elements) > MOST_ELEMENTS:
                raise Refusal("not taken")
            return b"%c%c" % (_kind_of_list(elements), len(elements))
        case b"{":
            return b"o\0"
        case b"n":
            return b"n\0"
        case _:
            return b"v\0"


def _kind_of_list(elements: Sequence[bytes]) -> bytes:
    """Empty, Objects, Mixed, or Texts; of these Numbered (all labelled and trimmed) and Bare (none labelled, once trimmed)."""
    first = {element[:1] for element in elements}
    if not first:
        return b"e"
    if first == {b"{"}:
        return b"O"
    if first != {b'"'}:
        return b"M"
    texts = list(map(plainly_trimmed, elements))
    if not all(begins_plainly(text) and ends_plainly(text) for text in texts):
        return b"T"
    labelled = {bool(_LABEL.match(text)) for text in texts}
    if labelled == {False}:
        return b"B"
    return b"N" if labelled == {True} and texts == elements else b"T"


def _value(row: Row, place: int) -> bytes:
    value = row[place if place >= 0 else ~place]
    if value is None or (place < 0 and _make(value)[:1] != b"B"):
        raise ValueError(f"nothing to be written at place {place}")
    if place >= 0:
        return value
    texts = [plainly_trimmed(bytes(text))[1:] for text in _decode_list(value)]
    return b"[%b]" % b",".join([b'"[%d] %b' % numbered for numbered in enumerate(texts, 1)])
