"""JSON inside answers: the first value of a text, and how much of one value another has."""

import json
from typing import Any

from evergold.judge.code import FENCE


def parsed_json(text: str) -> Any:
    """Read the first JSON object or list of a text, inside a fence or not; None where there is none."""
    fences = FENCE.findall(text)
    body = (fences[0] if fences else text).strip()
    start = min((i for i in (body.find("{"), body.find("[")) if i >= 0), default=-1)
    if start < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(body[start:])[0]
    except (ValueError, RecursionError):
        return None


def json_share(want: Any, got: Any) -> float:
    """The share of the expected leaves that stand in the same place."""
    wanted, result = dict(_leaves(want)), dict(_leaves(got))
    same = sum(1 for key, value in wanted.items() if key in result and result[key] == value)
    return same / max(1, len(wanted | result))


def _leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [leaf for index, inner in enumerate(value) for leaf in _leaves(inner, f"{path}[{index}]")]
    return [(path, value)]
