"""JSON in files as people export it: one object per line, one array, or one object spread over many lines."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import orjson

from evergold.model.rejected import Rejected

KEPT = 2000


def documents(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, Any] | Rejected]:
    """Each document with its place. A file whose first line is no document of its own is read as one document."""
    source = iter(lines)
    first = next((line for line in source if line.strip()), b"")
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError:
        yield from _whole(first + b"".join(source), name)
        return
    for number, line in enumerate(chain([first], source), 1):
        if line.strip():
            yield from _parts(line, f"{name}:{number}")


def _whole(text: bytes, name: str) -> Iterator[tuple[str, Any] | Rejected]:
    if text.strip():
        yield from _parts(text, name)


def _parts(text: bytes, where: str) -> Iterator[tuple[str, Any] | Rejected]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        yield Rejected(where=where, reason=f"not JSON: {problem}", record=text[:KEPT].decode("utf-8", "replace"))
        return
    listed = value.get("data") if isinstance(value, dict) and isinstance(value.get("data"), list) else value
    if isinstance(listed, list):
        yield from ((f"{where}[{index}]", item) for index, item in enumerate(listed))
    else:
        yield where, value
