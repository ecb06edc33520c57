"""The types of `_spans.c`."""

from typing import Any

Group = tuple[dict[str, Any], str | None, list[Any]]
"""A resource, the name of a scope, and its spans."""

def spans_in(body: bytes, most_records: int, most_keys: int, most_values: int) -> list[Group] | None: ...
