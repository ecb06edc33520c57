"""Native trace lines: one JSON object per line, of `type` trace (the default), score, correction or reaction."""

from collections.abc import Iterable, Iterator
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from evergold.model.rejected import Rejected
from evergold.model.trace import Record
from evergold.seams import Incoming

RECORD: TypeAdapter[Incoming] = TypeAdapter(Record)


class NativeLines:
    """Evergold's own lines. A bad one is rejected by name and the rest is read."""

    def accepts(self, head: bytes) -> bool:
        """A first line that is a JSON object none of the other formats claims: the fallback among sources."""
        return head.lstrip()[:1] == b"{"

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield parse_line(line, f"{name}:{number}")


def parse_line(line: bytes, where: str) -> Incoming | Rejected:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        return Rejected(where=where, reason=f"not JSON: {problem}", record=_short(line))
    if not isinstance(value, dict):
        return Rejected(where=where, reason=f"expected an object, got {type(value).__name__}", record=_short(line))
    return parse_record(value, where)


def parse_record(value: dict[str, Any], where: str) -> Incoming | Rejected:
    try:
        return RECORD.validate_python({"type": "trace"} | value)
    except ValidationError as problem:
        return Rejected.of(problem, where, Record, _shown(value))


def _shown(value: dict[str, Any]) -> str | None:
    """What arrived, where it can be written at all."""
    try:
        return _short(orjson.dumps(value, default=str))
    except orjson.JSONEncodeError:
        return None


def _short(line: bytes) -> str:
    return line[:2000].decode("utf-8", "replace").strip()
