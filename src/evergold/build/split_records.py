"""Fields of an offline record → one line of a split: every value as its bytes, contexts trimmed and numbered.

Works on the JSON text of each value. A context that needs no trimming keeps its very bytes (escapes included), one that needs
it loses only its ends, and a number is put right behind the opening quotation mark.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from evergold.build.offline_records import OPENED, Fields, Refusal, read_fields, show_value
from evergold.build.records import AnyObject
from evergold.build.spec import ALIGNED, EMPTY, LIST_KINDS, Column, Kind, Split

_decode_text = msgspec.json.Decoder(str).decode
_decode_raws = msgspec.json.Decoder(list[msgspec.Raw]).decode


_decode_list: dict[Kind, Callable[[bytes], list[Any]]] = {
    "texts": msgspec.json.Decoder(list[str | None]).decode,
    "contexts": _decode_raws,
    "objects": msgspec.json.Decoder(list[AnyObject | None]).decode,
}
_encode = msgspec.json.Encoder().encode
_OPENS: dict[Kind, tuple[bytes, str]] = {
    "text": (b'"', "text"),
    "texts": (b'"', "a list of texts"),
    "contexts": (b'"', "a list of texts"),
    "objects": (b"{", "a list of objects"),
    "object": (b"{", "an object"),
}
_PRINTED = frozenset(range(0x21, 0x7F)) - frozenset(b'"\\')
"""Bytes that are plainly no white space, nor part of an escape."""
_WHITE = (
    rb"(?: |\\[nrtf]|\\u(?i:000[9a-d]|001[c-f]|0020|0085|00a0|1680|200[0-9a]|202[89f]|205f|3000)"
    rb"|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
)
"""What `str.strip` takes for white space, as JSON may have it."""
_LEADING_WHITE, _LAST_WHITE = re.compile(b'"%b*' % _WHITE), re.compile(rb"%b\Z" % _WHITE)
_LONGEST_WHITE = 6  # bytes of the longest spelling of one white space, `\u3000`
_QUOTE, _BRACKET = b'"['
_NUMBERED = re.compile(rb'"\[(\d+)\]')


class _NoText(Exception):
    """An item of a list of texts is something else."""


class Routed(NamedTuple):
    """A finished record: which split it belongs to, the JSON text of its id, and its line."""

    split: int
    task_id: bytes
    line: bytes


class Excluded(NamedTuple):
    """A record of a type that no active split takes."""

    task_type: str


class RecordRouter:
    """Knows the active splits and turns lines into their records."""

    def __init__(self, splits: Sequence[Split]) -> None:
        self._columns = [[(b",%b:" % _encode(column.name), column) for column in split.columns] for split in splits]
        self._by_type = {kind: index for index, split in enumerate(splits) for kind in split.task_types}

    def route(self, line: bytes) -> Routed | Excluded:
        """Turn a line of UTF-8 into the record of its split; raises `Refusal` for one that cannot be used."""
        fields = read_fields(line)
        raw_type = fields.pop("task_type", b"null")
        if raw_type[:1] != b'"' or is_blank(raw_type):
            raise Refusal("missing task_type", "every record needs a text in task_type")
        task_type = _decode_text(raw_type).strip().casefold()
        index = self._by_type.get(task_type)
        if index is None:
            return Excluded(task_type)
        task_id = fields.pop("task_id", b"null")
        if task_id[:1] != b'"' or is_blank(task_id):
            raise Refusal("missing task_id", "every record needs a text in task_id")
        out = [b'{"task_id":', task_id, b',"task_type":', _encode(task_type)]
        try:
            _write_columns(self._columns[index], fields, out)
        except Refusal as refusal:
            # The id is known from here on, so that the rejected file can name the record.
            refusal.task_id = _decode_text(task_id)
            raise
        return Routed(index, task_id, b"".join(out))


def _write_columns(columns: Sequence[tuple[bytes, Column]], fields: Fields, out: list[bytes]) -> None:
    """Write each column from the first of its sources that is filled, and what no column takes under `extra`."""
    left = set(fields)
    lengths: dict[str, int] = {}
    for key, column in columns:
        source = _first_filled(column, fields)
        if source is None:
            if column.required:
                raise Refusal(f"missing {column.name}", f"needs a text in {' or '.join(column.sources)}")
            if not column.optional:
                out += (key, EMPTY[column.kind])
            continue
        left.discard(source)
        value, kind = fields[source], column.kind
        out.append(key)
        if kind in LIST_KINDS:
            lengths[column.name] = _write_list(kind, source, value, out)
            continue
        if kind != "any" and value[:1] != _OPENS[kind][0]:
            raise Refusal("wrong type", f"{source} must be {_OPENS[kind][1]}, not {show_value(value)}")
        out.append(value)
    # Contexts, sources and retrieved belong together place by place; an empty list says nothing.
    given = {name: count for name in ALIGNED if (count := lengths.get(name))}
    if len(set(given.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in given.items())
        raise Refusal("misaligned", f"{counts}: they must pair up place by place")
    if left:
        out += (b',"extra":', _extra({path: fields[path] for path in sorted(left)}))
    out.append(b"}\n")


def _first_filled(column: Column, fields: Fields) -> str | None:
    """Find the first source with something in it; null, and blank text where text is required, count as not given."""
    for source in column.sources:
        value = fields.get(source, b"null")
        # A blank required text is as good as none: the next source is tried.
        if value == b"null" or (column.required and value[:1] == b'"' and is_blank(value)):
            continue
        return source
    return None


def _write_list(kind: Kind, source: str, value: bytes, out: list[bytes]) -> int:
    """Write a list column and return its length; a null keeps its place as an empty value."""
    try:
        elements = _decode_list[kind](value)
        if kind == "contexts":
            texts = [bytes(raw) for raw in elements]
            changed = number_records([trim_record(text) for text in texts])
            # A list that need not be changed keeps its spacing.
            out.append(value if changed == texts else b"[%b]" % b",".join(changed))
            return len(texts)
    except (msgspec.ValidationError, _NoText):
        raise _wrong_list(kind, source, value) from None
    if None in elements:
        empty = b'""' if kind == "texts" else b"{}"
        kept = [empty if raw == b"null" else raw for raw in map(bytes, _decode_raws(value))]
        out.append(b"[%b]" % b",".join(kept))
    else:
        out.append(value)
    return len(elements)


def _wrong_list(kind: Kind, source: str, value: bytes) -> Refusal:
    """Name what is not as a list column wants it: the value, or the first of its items."""
    opening, wanted = _OPENS[kind]
    if value[:1] != b"[":
        return Refusal("wrong type", f"{source} must be {wanted}, not {show_value(value)}")
    items = enumerate(map(bytes, _decode_raws(value)), 1)
    index, item = next((index, item) for index, item in items if item[:1] != opening and item != b"null")
    return Refusal("wrong type", f"{source} must be {wanted}, but its item {index} is {show_value(item)}")


def _extra(left: Fields) -> bytes:
    """Write what no column took, as it was, in the order of its names: nothing a record brought is lost."""

    def write_members(members: Fields) -> bytes:
        return b"{%b}" % b",".join(b"%b:%b" % (_encode(name), value) for name, value in members.items())

    inside = {path.removeprefix(f"{OPENED}."): left[path] for path in left if path.startswith(f"{OPENED}.")}
    outside = {path: left[path] for path in left if not path.startswith(f"{OPENED}.")}
    return write_members(outside | {OPENED: write_members(inside)} if inside else outside)


def is_blank(raw: bytes) -> bool:
    """Whether the JSON string holds nothing but white space."""
    return raw[1] not in _PRINTED and not _decode_text(raw).strip()


def trim_record(raw: bytes) -> bytes:
    """Take white space from the ends of a JSON string. What is left keeps its bytes, escapes included; null is empty."""
    # Most texts begin and end with a printed character; six bytes before the end there may be an escape.
    if raw[0] == _QUOTE and raw[1] in _PRINTED and raw[-2] in _PRINTED and b"\\" not in raw[-7:-2]:
        return raw
    if raw == b"null":
        return b'""'
    if raw[0] != _QUOTE:
        raise _NoText
    text = _decode_text(raw)
    bare = text.rstrip()
    if not bare:
        return b'""'
    inside = raw[_LEADING_WHITE.match(raw).end() : -1]  # type: ignore[union-attr]
    # One white space at a time from the end: each may be spelled as itself, as an escape or as \uXXXX.
    for _ in range(len(text) - len(bare)):
        inside = inside[: -len(_LAST_WHITE.search(inside[-_LONGEST_WHITE:])[0])]  # type: ignore[index]
    return b'"%b"' % inside


def number_records(texts: Sequence[bytes]) -> Sequence[bytes]:
    """Write every trimmed context as `[n] text`, unless each already begins with a number in brackets.

    An empty one stays as its bare number, so that the place still belongs to its source.
    """
    labels = [text[1] == _BRACKET and _NUMBERED.match(text) for text in texts]
    if all(labels):
        return texts
    # Empty contexts have no label of their own and do not decide whether the others keep theirs.
    keep_all = all(label for label, text in zip(labels, texts, strict=True) if text != b'""')
    result = []
    for index, (label, text) in enumerate(zip(labels, texts, strict=True), 1):
        if text == b'""':
            result.append(b'"[%d]"' % index)
        elif label and (keep_all or label[1] == b"%d" % index):
            result.append(text)
        else:
            result.append(b'"[%d] %b' % (index, text[1:]))
    return result
