"""The straight way from a line to its record: a plan worked out once per shape, then only bytes put side by side.

Most lines of a file have the same fields. For such a shape the plan knows which field feeds which column and has the
constant pieces of the record ready. It only writes a record whose every value is plainly of the kind its column wants; for any
doubt (a null, a blank text, a list of other things) it answers None, and the careful way decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from evergold.build.contexts import PLAIN_EDGE, append_numbered
from evergold.build.reader import Shape, Values
from evergold.build.splits import ALIGNED, EMPTY, Column, Kind

_QUOTE, _BRACE = ord('"'), ord("{")
_OPENING: dict[Kind, int] = {"text": _QUOTE, "object": _BRACE}


class _AnyObject(msgspec.Struct):
    """Some JSON object; its fields are skipped."""


_COUNTED: dict[Kind, Callable[[bytes], list[Any]]] = {
    "texts": msgspec.json.Decoder(list[str]).decode,
    "objects": msgspec.json.Decoder(list[_AnyObject]).decode,
}


class Step(NamedTuple):
    """One value of the record: the constant piece before it and its place among the values of the line."""

    before: bytes
    place: int
    opening: int
    """The first byte a single value must have; 0 for any."""
    elements: Callable[[bytes], list[Any]] | None
    """For a list: takes it apart if each element is of the kind the column wants."""
    is_contexts: bool
    required: bool
    is_aligned: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """How a line of one shape becomes a record of one split."""

    steps: tuple[Step, ...]
    tail: bytes

    def write(self, task_id: bytes, values: Values) -> bytes | None:
        out: list[bytes | memoryview] = [b'{"task_id":', task_id]
        lengths = set()
        for before, place, opening, elements, is_contexts, required, is_aligned in self.steps:
            value = values[place]
            out.append(before)
            if is_contexts:
                if not append_numbered(out, value):
                    return None
                count = len(value)
            else:
                data = bytes(value)
                if elements is not None:
                    try:
                        count = len(elements(data))
                    except msgspec.ValidationError:
                        return None
                elif (opening and data[0] != opening) or (required and data[1] not in PLAIN_EDGE):
                    return None
                out.append(data)
            if is_aligned:
                lengths.add(count)
        out.append(self.tail)
        return b"".join(out) if len(lengths) < 2 else None


def plan_for(shape: Shape, task_type: str, columns: Sequence[Column]) -> Plan | None:
    """None when lines of this shape lack a required field or bring one that no column takes."""
    left = {path for path in shape.paths if path} - {"task_id", "task_type"}
    before = b',"task_type":"%b"' % task_type.encode()
    steps: list[Step] = []
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
        is_contexts = column.kind == "contexts"
        if is_contexts != (place in shape.lists):
            return None
        before += key + (b"[" if is_contexts else b"")
        opening = _OPENING.get(column.kind, 0)
        is_aligned = column.name in ALIGNED
        elements = _COUNTED.get(column.kind)
        if not is_aligned and any(step.place == place and step.elements is elements for step in steps):
            elements = None  # mirrors a list that an earlier step has looked at
        steps.append(Step(before, place, opening, elements, is_contexts, column.required, is_aligned))
        before = b"]" if is_contexts else b""
    return None if left else Plan(tuple(steps), before + b"}\n")
