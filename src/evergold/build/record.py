"""One line of offline generations → one line of a split. A hundred thousand records of 11 KB go through here.

There are two ways, with one result. The straight one (`plan.py`) is for lines without surprises; the careful one below
knows every rule: which source fills a column, what may be null or blank, what must line up, and what is kept under `extra`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from evergold.build.contexts import is_blank, numbered
from evergold.build.plan import Plan, plan_for
from evergold.build.reader import (
    FastReader,
    Parts,
    Refusal,
    Shape,
    Values,
    absent_fields,
    read_carefully,
    require_utf8,
    shown,
)
from evergold.build.splits import ALIGNED, EMPTY, LIST_KINDS, Column, Kind, Split

_decode_text = msgspec.json.Decoder(str).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode
_OPENS: dict[Kind, tuple[bytes, str]] = {
    "text": (b'"', "text"),
    "texts": (b'"', "a list of texts"),
    "contexts": (b'"', "a list of texts"),
    "objects": (b"{", "a list of objects"),
    "object": (b"{", "an object"),
}


class Routed(NamedTuple):
    """A finished record: which split it belongs to, the JSON text of its id, and its line."""

    split: int
    task_id: bytes
    line: bytes


class Excluded(NamedTuple):
    """A record of a type that no active split takes."""

    task_type: str


class _Way(NamedTuple):
    split: int
    plan: Plan


class _Outside(NamedTuple):
    task_type: str
    shape: Shape


class Router:
    """Knows the active splits and turns lines into their records."""

    def __init__(self, splits: Sequence[Split]) -> None:
        self.splits = tuple(splits)
        self._by_type = {kind: place for place, split in enumerate(splits) for kind in split.task_types}
        self._type_names: dict[bytes, str] = {}
        self._ways: dict[tuple[bytes, bytes], _Way | _Outside | None] = {}
        paths = dict.fromkeys(("task_id", "task_type"), False)
        for column in (column for split in splits for column in split.columns):
            for source in column.sources:
                paths[source] = paths.get(source, True) and column.kind == "contexts"
        self._reader = FastReader(paths)

    def route(self, line: bytes, *, is_text: bool = False) -> Routed | Excluded:
        """Raises `Refusal` for a line that cannot be used. `line` comes without its line break.

        `is_text` says that somebody has made sure already that it is UTF-8.
        """
        if not (is_text or line.isascii()):
            require_utf8(line)
        values = self._reader.read(line)
        found = self._straight(line, values) if values is not None else None
        return found or self.route_carefully(read_carefully(line))

    def _straight(self, line: bytes, values: Values) -> Routed | Excluded | None:
        """The record of a line without surprises; None leaves it to the careful way."""
        if values[0] is UNSET or values[1] is UNSET:
            return None
        key = (bytes(values[1]), absent_fields(values))
        way = self._ways[key] if key in self._ways else self._learn(*key)
        if way is None:
            return None
        if isinstance(way, _Outside):
            return Excluded(way.task_type) if way.shape.accounts_for(line, values) else None
        record = way.plan.write(line, values)
        return Routed(way.split, bytes(values[0]), record) if record else None

    def _learn(self, raw_type: bytes, absent: bytes) -> "_Way | _Outside | None":
        """What is to be done with lines of this type that have these fields."""
        task_type = self._type_names.get(raw_type)
        if task_type is None:
            return None
        shape = self._reader.shape(absent)
        split = self._by_type.get(task_type)
        way: _Way | _Outside | None = _Outside(task_type, shape)
        if split is not None:
            plan = plan_for(shape, task_type, self.splits[split].columns)
            way = _Way(split, plan) if plan else None
        if len(self._ways) < 1000:
            self._ways[raw_type, absent] = way
        return way

    def route_carefully(self, parts: Parts) -> Routed | Excluded:
        """The same decision by every rule, for the fields of any record."""
        task_type = self._task_type(parts.get("task_type", b"null"))
        place = self._by_type.get(task_type)
        if place is None:
            return Excluded(task_type)
        task_id = parts.get("task_id", b"null")
        if task_id[:1] != b'"' or is_blank(task_id):
            raise Refusal("missing task_id", "every record needs a text in task_id")
        try:
            return Routed(place, task_id, _written(self.splits[place].columns, task_type, parts))
        except Refusal as refusal:
            refusal.task_id = _decode_text(task_id)
            raise

    def _task_type(self, raw: bytes) -> str:
        """Trimmed and case-folded; remembered, because there are few of them and many records."""
        if raw[:1] != b'"' or is_blank(raw):
            raise Refusal("missing task_type", "every record needs a text in task_type")
        name = _decode_text(raw).strip().casefold()
        if len(self._type_names) < 1000:
            self._type_names[raw] = name
        return name


def _written(columns: Sequence[Column], task_type: str, parts: Parts) -> bytes:
    out = [b'{"task_id":', parts["task_id"], b',"task_type":', _encode(task_type)]
    left = parts.keys() - {"task_id", "task_type"}
    lengths: dict[str, int] = {}
    for column in columns:
        source = _first_filled(column, parts)
        key = b',"%b":' % column.name.encode()
        if source is None:
            if column.required:
                raise Refusal(f"missing {column.name}", f"needs a text in {' or '.join(column.sources)}")
            if not column.optional:
                out += (key, EMPTY[column.kind])
            continue
        left.discard(source)
        if column.kind in LIST_KINDS:
            written, lengths[column.name] = _list(column, source, parts[source])
            out += (key, written)
        else:
            out += (key, _single(column, source, parts[source]))
    _require_alignment(lengths)
    if left:
        out += (b',"extra":', _extra({path: value for path, value in parts.items() if path in left}))
    out.append(b"}\n")
    return b"".join(out)


def _first_filled(column: Column, parts: Parts) -> str | None:
    """The first source with something in it; null, and blank text where text is required, count as not given."""
    for source in column.sources:
        value = parts.get(source, b"null")
        if value == b"null" or (column.required and value[:1] == b'"' and is_blank(value)):
            continue
        return source
    return None


def _single(column: Column, source: str, value: bytes) -> bytes:
    if column.kind != "any":
        opening, wanted = _OPENS[column.kind]
        if value[:1] != opening:
            raise Refusal("wrong type", f"{source} must be {wanted}, not {shown(value)}")
    return value


def _list(column: Column, source: str, value: bytes) -> tuple[bytes, int]:
    """A list column, checked, and its length; a null keeps its place as an empty value."""
    opening, wanted = _OPENS[column.kind]
    if value[:1] != b"[":
        raise Refusal("wrong type", f"{source} must be {wanted}, not {shown(value)}")
    elements = [bytes(raw) for raw in _decode_list(value)]
    for place, element in enumerate(elements):
        if element[:1] != opening and element != b"null":
            raise Refusal("wrong type", f"{source} must be {wanted}, but its item {place + 1} is {shown(element)}")
    if column.kind == "contexts":
        elements = numbered(elements)
    elif b"null" not in elements:
        return value, len(elements)
    else:
        empty = b'""' if column.kind == "texts" else b"{}"
        elements = [empty if element == b"null" else element for element in elements]
    return b"[%b]" % b",".join(elements), len(elements)


def _require_alignment(lengths: dict[str, int]) -> None:
    """Contexts, sources and retrieved belong together place by place; an empty list says nothing."""
    given = {name: lengths[name] for name in ALIGNED if lengths.get(name)}
    if len(set(given.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in given.items())
        raise Refusal("misaligned", f"{counts}: they must pair up place by place")


def _extra(left: Parts) -> bytes:
    """What no column took, as it was: nothing a record brought is lost."""

    def written(members: Parts) -> bytes:
        return b"{%b}" % b",".join(b"%b:%b" % (_encode(name), value) for name, value in members.items())

    top = {path: value for path, value in left.items() if not path.startswith("rag.")}
    inner = {path.removeprefix("rag."): value for path, value in left.items() if path.startswith("rag.")}
    if inner:
        top["rag"] = written(inner)
    return written(top)
