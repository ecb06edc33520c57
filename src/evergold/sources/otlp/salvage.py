"""Read what can be read of a protobuf message of which a part cannot.

The parser gives up on the whole request for one text that is not UTF-8 and for one value nested too deep. The request is then
taken apart by the wire format alone, into resources, scopes and records, and each of them is parsed by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError, Message

REASON = "a text is not UTF-8, or values are nested too deep"
LONGEST_VARINT = 10
MOST_PARTS = 100_000  # some microseconds each
SHOWN = 100


class Field(NamedTuple):
    """One field as it was sent: its number, all of its bytes, and the bytes of its value where it has a length."""

    number: int
    raw: bytes
    value: bytes


@dataclass(frozen=True)
class Layout:
    """Where the records of a request are: the repeated field of each level by name and number, and their name's number."""

    noun: str
    levels: Sequence[tuple[str, int]]
    name: int


SPANS = Layout("span", (("resource_spans", 1), ("scope_spans", 2), ("spans", 2)), 5)
LOGS = Layout("log record", (("resource_logs", 1), ("scope_logs", 2), ("log_records", 2)), 12)


def salvaged(kind: type[Message], body: bytes, layout: Layout) -> tuple[Any, list[str]]:
    """Read a request without the parts that cannot be read, and name those. Raises DecodeError where none is named."""
    message = kind()
    taking_apart = _TakingApart(layout)
    taking_apart.fill(message, body, layout.levels)
    if not taking_apart.refused:
        raise DecodeError("no record in it can be told from the others")
    return message, taking_apart.refused


class _TakingApart:
    """One request: what was refused of it, and how many parts may still be looked at one by one."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._left = MOST_PARTS
        self.refused: list[str] = []

    def fill(self, message: Any, body: bytes, levels: Sequence[tuple[str, int]]) -> None:
        """Put into a message what can be read of its bytes."""
        for field in fields(body):
            self._left -= 1
            if self._left < 0:
                raise DecodeError(f"more than {MOST_PARTS} parts")
            try:
                message.MergeFrom(type(message).FromString(field.raw))
            except DecodeError:
                if levels and field.number == levels[0][1]:
                    self._part(getattr(message, levels[0][0]), field.value, levels[1:])
                elif (known := message.DESCRIPTOR.fields_by_number.get(field.number)) is not None:
                    # A resource or scope that cannot be read is left out; its records are kept.
                    self.refused.append(f"{known.name} of {self._layout.noun}s is left out: {REASON}")

    def _part(self, parts: Any, value: bytes, levels: Sequence[tuple[str, int]]) -> None:
        if levels:
            self.fill(parts.add(), value, levels)
        else:
            self.refused.append(f"{self._layout.noun} {_name(value, self._layout.name)!r}: {REASON}")


def _name(record: bytes, number: int) -> str:
    try:
        names = [field.value for field in fields(record) if field.number == number]
    except DecodeError:
        names = []
    return names[-1].decode("utf-8", "replace")[:SHOWN] if names else ""


def fields(body: bytes) -> Iterator[Field]:
    """Take a message apart without parsing what is in it."""
    at = 0
    while at < len(body):
        start = at
        tag, at = _varint(body, at)
        value = b""
        match tag & 7:
            case 0:
                _, at = _varint(body, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(body, at)
                value = body[at : at + size]
                at += size
            case 5:
                at += 4
            case other:
                raise DecodeError(f"wire type {other} at byte {start}")
        if at > len(body):
            raise DecodeError(f"the message ends within the field at byte {start}")
        yield Field(tag >> 3, body[start:at], value)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(LONGEST_VARINT):
        if at >= len(body):
            break
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return number, at
    raise DecodeError(f"no number ends at byte {at}")
