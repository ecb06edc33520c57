"""One line of offline generations → one line of a split. A hundred thousand records of 11 KB go through here.

There are two ways, with one result. The straight one (`layout.py`, `plan.py`) takes many lines without surprises at once;
the careful one below knows every rule: which source fills a column, what may be null or blank, what must line up, and what is
kept under `extra`.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from evergold.build.contexts import is_blank, renumbered
from evergold.build.layout import Alike, BlockReader, Layout, Pieces
from evergold.build.plan import Plan, plan_for
from evergold.build.reader import Parts, Refusal, read_carefully, require_utf8, shown
from evergold.build.splits import ALIGNED, EMPTY, LIST_KINDS, Column, Kind, Split

_decode_text = msgspec.json.Decoder(str).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_MOST_PLANS = 1000
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


class Straight(NamedTuple):
    """Lines of a block that became records of one split (or of none), by their places in the block."""

    split: int | None
    task_type: str
    lines: Sequence[int]
    ids: Sequence[bytes]
    records: Sequence[Pieces]


class Router:
    """Knows the active splits and turns lines into their records."""

    def __init__(self, splits: Sequence[Split]) -> None:
        self.splits = tuple(splits)
        self._by_type = {kind: place for place, split in enumerate(splits) for kind in split.task_types}
        self._type_names: dict[bytes, str] = {}
        self._plans: dict[tuple[Layout, str], Plan | None] = {}
        paths = dict.fromkeys(("task_id", "task_type"), False)
        for column in (column for split in splits for column in split.columns):
            for source in column.sources:
                paths[source] = paths.get(source, True) and column.kind == "contexts"
        self._reader = BlockReader(paths)

    def route(self, line: bytes) -> Routed | Excluded:
        """Raises `Refusal` for a line that cannot be used. `line` comes without its line break."""
        require_utf8(line)
        return self.route_carefully(read_carefully(line))

    def route_block(self, block: bytes) -> tuple[int, list[Straight]]:
        """How many lines there are, and what became of those without surprises; the others are left to `route`.

        `block` is UTF-8 and ends with a line break.
        """
        count, found = self._reader.read(block)
        return count, [straight for alike in found for straight in self._by_types(alike)]

    def _by_types(self, alike: Alike) -> Iterator[Straight]:
        """Lines of each type that the careful way has met before."""
        if not {0, 1} <= set(alike.layout.places):
            return
        types = list(map(bytes, alike.columns[1]))
        for raw_type in dict.fromkeys(types):
            task_type = self._type_names.get(raw_type)
            if task_type is None:
                continue
            wanted = [one == raw_type for one in types]
            split = self._by_type.get(task_type)
            if split is None:
                yield Straight(None, task_type, list(compress(alike.lines, wanted)), (), ())
            elif plan := self._plan(alike.layout, task_type, split):
                yield _written_straight(plan, split, task_type, alike if all(wanted) else alike.only(wanted))

    def _plan(self, layout: Layout, task_type: str, split: int) -> Plan | None:
        key = (layout, task_type)
        if key not in self._plans:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan_for(layout, task_type, self.splits[split].columns)
        return self._plans[key]

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


def _written_straight(plan: Plan, split: int, task_type: str, alike: Alike) -> Straight:
    records, doubtful = plan.write(alike)
    columns: list[Sequence[Any]] = [alike.lines, list(map(bytes, alike.columns[0])), records]
    if doubtful:
        wanted = [place not in doubtful for place in range(len(records))]
        columns = [list(compress(column, wanted)) for column in columns]
    return Straight(split, task_type, *columns)


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
        return b"[%b]" % renumbered(elements, value[1:-1]), len(elements)
    if b"null" not in elements:
        return value, len(elements)
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
