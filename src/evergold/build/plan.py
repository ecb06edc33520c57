"""The straight way from a line to its record: a plan worked out once per shape, then only bytes put side by side.

Most lines of a file have the same fields. For such a shape the plan knows which field feeds which column and has the
constant pieces of the record ready. It only writes a record whose every value is plainly of the kind its column wants; for any
doubt (a null, a blank text, a list of other things) it answers None, and the careful way decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from evergold.build.contexts import PLAIN_EDGE, append_numbered
from evergold.build.reader import Shape, Values
from evergold.build.splits import ALIGNED, EMPTY, LIST_KINDS, Column

_QUOTE, _BRACE = frozenset(b'"'), frozenset(b"{")
_OPENING = {"text": _QUOTE, "texts": _QUOTE, "objects": _BRACE, "object": _BRACE}
_first_byte = itemgetter(0)


class Step(NamedTuple):
    """One value of the record: the constant piece before it and its place among the values of the line."""

    before: bytes
    place: int
    opening: frozenset[int]
    """The first byte the value, or each element of it, must have; empty for any."""
    is_list: bool
    is_contexts: bool
    required: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """How a line of one shape becomes a record of one split."""

    steps: tuple[Step, ...]
    tail: bytes
    aligned: tuple[int, ...]

    def write(self, task_id: bytes, values: Values) -> bytes | None:
        out: list[bytes | memoryview] = [b'{"task_id":', task_id]
        for before, place, opening, is_list, is_contexts, required in self.steps:
            value = values[place]
            out.append(before)
            if is_contexts:
                if not append_numbered(out, value):
                    return None
            elif is_list:
                if value and {*map(_first_byte, map(bytes, value))} != opening:
                    return None
                out.append(b",".join(value))
            else:
                data = bytes(value)
                if (opening and data[0] not in opening) or (required and data[1] not in PLAIN_EDGE):
                    return None
                out.append(data)
        out.append(self.tail)
        lengths = {len(values[place]) for place in self.aligned}
        return b"".join(out) if len(lengths) < 2 else None


def plan_for(shape: Shape, task_type: str, columns: Sequence[Column]) -> Plan | None:
    """None when lines of this shape lack a required field or bring one that no column takes."""
    left = {path for path in shape.paths if path} - {"task_id", "task_type"}
    before = b',"task_type":"%b"' % task_type.encode()
    steps, aligned = [], []
    for column in columns:
        source = next((source for source in column.sources if source in shape.paths), None)
        key = b',"%b":' % column.name.encode()
        if source is None:
            if column.required:
                return None
            before += b"" if column.optional else key + EMPTY[column.kind]
            continue
        left.discard(source)
        place = shape.paths.index(source)
        is_list = column.kind in LIST_KINDS
        if is_list and place not in shape.lists:
            return None
        before += key + (b"[" if is_list else b"")
        opening = _OPENING.get(column.kind, frozenset())
        steps.append(Step(before, place, opening, is_list, column.kind == "contexts", column.required))
        before = b"]" if is_list else b""
        if column.name in ALIGNED:
            aligned.append(place)
    return None if left else Plan(tuple(steps), before + b"}\n", tuple(aligned))
