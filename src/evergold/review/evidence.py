"""Evidence that travelled with a case, under the `evidence` key of its row."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from evergold.model.evidence import Evidence


def of_row(kept: Mapping[str, Any]) -> Evidence | None:
    """What the row carries, where it is of our shape; another tool's key of that name is not ours to read."""
    body = kept.get("evidence")
    if not isinstance(body, dict):
        return None
    try:
        return Evidence.model_validate({name: body[name] for name in Evidence.model_fields if name in body})
    except ValidationError:
        return None
