"""Decide whether a call is the expected one: one rule for scoring calls and for replaying recorded ones."""

import math
from collections.abc import Mapping
from typing import Any

from evergold.model.likeness import likeness, same
from evergold.model.tool_calls import ArgumentMatch, ExpectedTool, ToolCall, path_of


def matches(want: ExpectedTool, got: ToolCall) -> bool:
    """Whether a call meets an expectation in every argument."""
    return call_likeness(want, got) == 1.0


def call_likeness(want: ExpectedTool, got: ToolCall) -> float:
    """0 for another tool; else the share of arguments that are right, over those of either side.

    An optional argument that was left out is no argument of either side; one that `optional` names and `args` does not
    may have any value.
    """
    return _object_likeness(want, want.args, got.args, "") if want.name == got.name else 0.0


def _object_likeness(want: ExpectedTool, wanted: Mapping[str, Any], given: Mapping[str, Any], at: str) -> float:
    shares = []
    for key in sorted(wanted.keys() | given.keys() | _matched_here(want, at)):
        path = path_of(at, key)
        if key not in given:
            if path not in want.optional:
                shares.append(0.0)
        elif key not in wanted:
            shares.append(float(path in want.optional or want.match.get(path) is ArgumentMatch.ANY))
        else:
            shares.append(_value_likeness(want, wanted[key], given[key], path))
    return sum(shares) / len(shares) if shares else 1.0


def _matched_here(want: ExpectedTool, at: str) -> set[str]:
    """Arguments that only `match` names, with `any`: they must be there, whatever their value."""
    # Paths with a dot lie inside an object, where the argument itself is compared.
    return {path for path in want.match if not at and "." not in path}


def _value_likeness(want: ExpectedTool, wanted: Any, given: Any, path: str) -> float:
    match want.match.get(path):
        case ArgumentMatch.ANY:
            return 1.0
        case ArgumentMatch.EXACT:
            return float(likeness(wanted, given) == 1.0)
        case ArgumentMatch.IGNORE_CASE:
            return likeness(wanted, given, _same_letters)
        case ArgumentMatch.NUMBER:
            return likeness(wanted, given, _same_number)
        case ArgumentMatch.REGEX:
            return float(_fits(wanted, given))
        case ArgumentMatch.ANY_OF:
            return max(likeness(one, given) for one in wanted)
    if isinstance(wanted, dict) and isinstance(given, dict):
        return _object_likeness(want, wanted, given, path)
    return likeness(wanted, given)


def _same_letters(one: Any, other: Any) -> float:
    if isinstance(one, str) and isinstance(other, str):
        return float(" ".join(one.split()).casefold() == " ".join(other.split()).casefold())
    return same(one, other)


def _same_number(one: Any, other: Any) -> float:
    """Numbers by value, also when they are written as text (`"1,200.50"`); anything else as it is."""
    first, second = _number(one), _number(other)
    if first is None or second is None:
        return same(one, other)
    # Nine significant digits: 0.1 + 0.2 is 0.3; the absolute part lets tiny results of arithmetic be zero.
    return float(math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = float(value.replace(",", "").strip() if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return read if math.isfinite(read) else None


def _fits(pattern: str, given: Any) -> bool:
    """Whether the whole value, as text, fits the pattern; in time linear in the text, whatever the pattern."""
    import re2

    if isinstance(given, bool):
        # As JSON writes it: true, not True.
        given = str(given).lower()
    return not isinstance(given, dict | list) and re2.fullmatch(pattern, str(given)) is not None
