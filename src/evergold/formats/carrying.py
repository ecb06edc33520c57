"""What another tool's format cannot hold travels along, so that a file read back gives the same case.

A format says which fields of a case it holds by itself; `carried` is the rest, and stands under one key of the record's
metadata. Two values that look alike in the other format (no answer, and the empty answer) are told apart by it too.
"""

from collections.abc import Mapping
from typing import Any

from evergold.model.case import Case
from evergold.model.ident import content_hash

KEY = "evergold"
MOVING = {"version", "updated_at"}
"""Bookkeeping of this store: another one counts for itself."""


def carried(case: Case, held: set[str]) -> dict[str, Any]:
    """The fields of a case that are not held, where they say anything."""
    rest = case.model_dump(mode="json", exclude=held | MOVING, exclude_defaults=True)
    blank = {name: "" for name in held if getattr(case, name, None) == ""}
    return rest | blank


def metadata_of(case: Case, held: set[str]) -> dict[str, Any]:
    """The user's metadata with ours beside it; where the user's own uses our key, all of it is carried."""
    rest = carried(case, held | {"metadata"})
    if KEY in case.metadata:
        return {KEY: {**rest, "metadata": case.metadata}}
    return {**case.metadata, KEY: rest}


def rebuilt(
    held: Mapping[str, Any],
    metadata: Mapping[str, Any] | None,
    *,
    guessed: Mapping[str, Any] | None = None,
    dataset: str = "imported",
) -> Case:
    """The case of a record: what the format holds, then what was carried.

    `guessed` is what a record of another tool seems to say; ours need no guessing. A record without an id gets one from
    its content.
    """
    own = dict(metadata or {})
    rest = own.pop(KEY, None)
    ours = isinstance(rest, Mapping)
    natural = {**held, **({} if ours else guessed or {})}
    fields: dict[str, Any] = {"dataset": dataset, "metadata": own, "input": ""}
    fields |= {name: value for name, value in natural.items() if value not in (None, "")}
    if ours:
        fields |= {"dataset": held.get("dataset") or "live"} | rest
    if not fields.get("id"):
        fields["id"] = content_hash([fields["input"], fields.get("expected")])[7:23]
    return Case.model_validate(fields)
