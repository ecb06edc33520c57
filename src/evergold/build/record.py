"""One line of offline generations → one line of a split. A hundred thousand records of 11 KB go through here.

There are two ways, with one result. The straight one (`lines.py`, `plan.py`) takes many lines without surprises at once;
the careful one below knows every rule: which source fills a column, what may be null or blank, what must line up, and what is
kept under `extra`.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple, TypeAlias

import msgspec

from evergold.build import lines
from evergold.build.contexts import is_blank, renumbered
from evergold.build.lines import Recipe, Table
from evergold.build.plan import OPENED, Fields, recipe_for
from evergold.build.reader import Parts, Refusal, read_carefully, require_utf8, shown
from evergold.build.splits import ALIGNED, EMPTY, LIST_KINDS, Column, Kind, Split

_decode_text = msgspec.json.Decoder(str).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
# Bounds on memory for inputs whose every line looks different.
_MOST_CHOICES, _MOST_FIELDS = 10_000, 200
_TASK_ID, _TASK_TYPE = 0, 1
"""Their places in a surveyed line."""
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


class Choice(NamedTuple):
    """What becomes of lines of one make and task type: records of a split, by a recipe, or none if no split takes them."""

    split: int | None
    task_type: str
    recipe: Recipe


class Surveyed(NamedTuple):
    """A block of lines: of each what becomes of it, or None for one that takes a closer look; and the JSON text of its id."""

    table: Table
    choices: list[Choice | None]
    ids: list[bytes | None]


_Choices: TypeAlias = dict[tuple[bytes | None, bytes | None], Choice | None]
"""By make and task type."""


class _Straight(NamedTuple):
    """What the straight way looks for, and what it decided; one value, so that threads see either all of a change or nothing."""

    fields: Fields
    choices: _Choices


class RecordRouter:
    """Knows the active splits and turns lines into their records. Threads may share one."""

    def __init__(self, splits: Sequence[Split], implementation: ModuleType = lines) -> None:
        self.splits = tuple(splits)
        self._lines = implementation
        self._by_type = {kind: index for index, split in enumerate(splits) for kind in split.task_types}
        sources = [source for split in splits for column in split.columns for source in column.sources]
        # All sources of all columns are looked for from the start; other fields are learned when a line has them.
        self._straight = _Straight(Fields(("task_id", "task_type"), ()).with_paths(list(dict.fromkeys(sources))), {})

    def route(self, line: bytes) -> Routed | Excluded:
        """Raises `Refusal` for a line that cannot be used. `line` comes without its line break."""
        require_utf8(line)
        parts = read_carefully(line)
        self._learn(parts)
        return self.route_carefully(parts)

    def survey(self, block: bytes) -> Surveyed:
        """What becomes of lines without surprises; the others are left to `route`."""
        fields, choices = self._straight
        table, makes = self._lines.survey(block, fields.outer, fields.inner)
        kinds = zip(makes, self._lines.pick(table, _TASK_TYPE), strict=True)
        return Surveyed(
            table,
            [choices[kind] if kind in choices else self._choose(fields, choices, kind) for kind in kinds],
            self._lines.pick(table, _TASK_ID),
        )

    def weave(self, table: Table, recipes: Sequence[Recipe | None]) -> bytes:
        """The records that recipes make of surveyed lines."""
        written: bytes = self._lines.weave(table, tuple(recipes))
        return written

    def _choose(self, fields: Fields, choices: _Choices, kind: tuple[bytes | None, bytes | None]) -> Choice | None:
        # Cleared as a whole: a block of hostile lines must not make memory grow, and ordinary ones refill it at once.
        if len(choices) >= _MOST_CHOICES:
            choices.clear()
        make, raw_type = kind
        choice = None
        # Both id and type must be plain texts; blank ones are refused with a reason by the careful way.
        if make is not None and raw_type is not None and make[2 * _TASK_ID :: 2][:2] == b"tt":
            task_type = _type_name(raw_type)
            split = self._by_type.get(task_type)
            recipe = () if split is None else recipe_for(make, fields, task_type, self.splits[split].columns)
            choice = None if recipe is None else Choice(split, task_type, recipe)
        choices[kind] = choice
        return choice

    def _learn(self, parts: Parts) -> None:
        """Look for the fields of this line as well, if there are not too many: the next lines may have them too."""
        fields = self._straight.fields
        if not parts.keys() <= fields.indexes.keys() and len(fields.indexes) + len(parts) <= _MOST_FIELDS:
            # A new value instead of a change: another thread may be reading the old one.
            self._straight = _Straight(fields.with_paths(list(parts)), {})

    def route_carefully(self, parts: Parts) -> Routed | Excluded:
        """The same decision by every rule, for the fields of any record."""
        raw_type = parts.get("task_type", b"null")
        if raw_type[:1] != b'"' or is_blank(raw_type):
            raise Refusal("missing task_type", "every record needs a text in task_type")
        task_type = _type_name(raw_type)
        index = self._by_type.get(task_type)
        if index is None:
            return Excluded(task_type)
        task_id = parts.get("task_id", b"null")
        if task_id[:1] != b'"' or is_blank(task_id):
            raise Refusal("missing task_id", "every record needs a text in task_id")
        try:
            return Routed(index, task_id, _written(self.splits[index].columns, task_type, parts))
        except Refusal as refusal:
            # The id is known from here on, so that the rejected file can name the record.
            refusal.task_id = _decode_text(task_id)
            raise


def _type_name(raw: bytes) -> str:
    return _decode_text(raw).strip().casefold()


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
        # A blank required text is as good as none: the next source is tried.
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
    for index, element in enumerate(elements):
        if element[:1] != opening and element != b"null":
            raise Refusal("wrong type", f"{source} must be {wanted}, but its item {index + 1} is {shown(element)}")
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
    """What no column took, as it was, in the order of its names: nothing a record brought is lost."""

    def written(members: Parts) -> bytes:
        return b"{%b}" % b",".join(b"%b:%b" % (_encode(name), value) for name, value in members.items())

    inside = {path.removeprefix(f"{OPENED}."): left[path] for path in sorted(left) if path.startswith(f"{OPENED}.")}
    outside = {path: left[path] for path in sorted(left) if not path.startswith(f"{OPENED}.")}
    return written(outside | {OPENED: written(inside)} if inside else outside)
