"""The recorded tools of a case: a call that was recorded gets the recorded result.

A call made twice with different results gives them in the order of the record, and the last one from then on. Where no
recorded call matches exactly, one that differs only in spaces, letter case, the writing of a number or the order of keys
does, and is marked `near`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evergold.model.ident import canonical_json
from evergold.model.tool_calls import ExpectedTool, ToolCall, calls_in
from evergold.model.tool_match import matches


class RecordedReply(NamedTuple):
    """The recorded answer to a call. `near`: the arguments were alike, not equal."""

    result: Any
    failed: bool
    near: bool


class Record:
    """Every call of a conversation with its result, and how often each was answered in this replay."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self._calls = [call for call in calls_in(messages) if call.result is not None]
        self._given: dict[str, int] = defaultdict(int)

    def answer(self, call: ToolCall) -> RecordedReply | None:
        """Answer a call from the record; None where the record does not know it."""
        same = [known for known in self._calls if matches(ExpectedTool(name=known.name, args=known.args), call)]
        near = not same
        if near:
            key = _loose(call.name, call.args)
            same = [known for known in self._calls if _loose(known.name, known.args) == key]
        if not same:
            return None
        used = _loose(call.name, call.args)
        known = same[min(self._given[used], len(same) - 1)]
        self._given[used] += 1
        return RecordedReply(known.result, known.failed, near)


def _loose(name: str, args: Mapping[str, Any]) -> str:
    return f"{name}\n{canonical_json(_folded(dict(args))).decode()}"


def _folded(value: Any) -> Any:
    """A value without what does not change its meaning: spaces around it, letter case, how a number is written."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        text = " ".join(value.split()).casefold()
        try:
            return float(text.replace(",", ""))
        except ValueError:
            return text
    if isinstance(value, Mapping):
        return {str(key): _folded(item) for key, item in value.items()}
    return [_folded(item) for item in value] if isinstance(value, list | tuple) else str(value)
