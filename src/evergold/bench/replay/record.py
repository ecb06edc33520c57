"""The record of a case: its turns, and its tools, which give a recorded call the recorded result.

Each recorded call answers once, in the order of the record, so that a call made twice with different results gives both;
after the last one its result stays. Calls of the history that stands before the first step have been answered already.
Where no recorded call matches exactly, one that differs only in spaces, letter case, the writing of a number or the
order of keys does, and is marked `near`.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from evergold.conversation import text_of
from evergold.model.case import Case
from evergold.model.run import Turns
from evergold.model.tool_calls import ExpectedTool, ToolCall, calls_in, matches

NOT_RECORDED = "this call is not in the record"
NO_RESULT = "the record has this call without its result"
_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<whole>0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.(?P<rest>\d+))?\Z", re.ASCII)


class RecordedReply(NamedTuple):
    """The recorded answer to a call. `near`: the arguments were alike, not equal. `number`: which recorded call it is."""

    result: Any
    failed: bool
    near: bool
    number: int = 0


class _Known(NamedTuple):
    number: int
    call: ToolCall
    expected: ExpectedTool
    key: str


class Record:
    """Every call of a conversation with its result, and which of them were given out in this replay."""

    def __init__(self, messages: Sequence[Mapping[str, Any]], history: int = 0) -> None:
        """Read the record; the first `history` messages were said before the replay begins."""
        self.calls = calls_in(messages)
        self._by_name: dict[str, list[_Known]] = {}
        for number, call in enumerate(self.calls):
            if call.name:
                expected = ExpectedTool(name=call.name, args=call.args)
                known = _Known(number, call, expected, loose_key(call.args))
                self._by_name.setdefault(call.name, []).append(known)
        # Calls of the history have been answered before the replay begins; they answer again only as a last resort.
        self._used = set(range(len(calls_in(messages[:history]))))

    def answer(self, call: ToolCall) -> RecordedReply | None:
        """Answer a call from the record; None where the record does not know it or holds no result of it."""
        named = self._by_name.get(call.name, ())
        near = False
        same = [known for known in named if matches(known.expected, call)]
        if not same:
            near, key = True, loose_key(call.args)
            same = [known for known in named if known.key == key]
        same = [known for known in same if known.call.result is not None]
        if not same:
            return None
        # Each recorded call answers once; after the last its result stays.
        chosen = next((known for known in same if known.number not in self._used), same[-1])
        self._used.add(chosen.number)
        return RecordedReply(chosen.call.result, chosen.call.failed, near, chosen.number)

    def reason(self, call: ToolCall) -> str:
        """Say why a call has no recorded answer."""
        key = loose_key(call.args)
        return NO_RESULT if any(known.key == key for known in self._by_name.get(call.name, ())) else NOT_RECORDED

    def take(self, numbers: Iterable[int]) -> None:
        """Mark recorded calls as given out, where a trajectory goes on after an interruption."""
        self._used.update(numbers)

    def copy(self) -> "Record":
        """A record in the same state, for a try that may be given up."""
        other = object.__new__(Record)
        other.calls, other._by_name, other._used = self.calls, self._by_name, set(self._used)
        return other


def loose_key(args: Mapping[str, Any]) -> str:
    """Arguments without what does not change their meaning: two calls with one key are near."""
    return json.dumps(_fold(dict(args)), sort_keys=True)


def _fold(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        # Decimal writes 1e3 as 1000 and keeps 0.1 as it is; str(float) would not.
        return _number(format(Decimal(repr(value)), "f"))
    if isinstance(value, str):
        # NFC: the same letter may come composed or decomposed, depending on the system it was typed on.
        text = " ".join(unicodedata.normalize("NFC", value).split()).casefold()
        return _number(text)
    if isinstance(value, Mapping):
        return {str(key): _fold(item) for key, item in value.items()}
    return [_fold(item) for item in value] if isinstance(value, list | tuple) else str(value)


def _number(text: str) -> str:
    """One writing for a number: `1,200.50` is `1200.5`. Digits with a leading zero are a code and stay as they are."""
    match = _NUMBER.match(text)
    if match is None:
        return text
    rest = (match["rest"] or "").rstrip("0")
    whole = match["whole"].replace(",", "") + (f".{rest}" if rest else "")
    return f"-{whole}" if match["sign"] == "-" and whole != "0" else whole


Message = dict[str, Any]
TURN = "#turn-"


def opening_messages(case: Case, turns: Turns) -> list[Message]:
    """The messages that stand before the first step."""
    if turns in (Turns.LAST, Turns.EACH):
        return [dict(message) for message in case.messages]
    first = next((n for n, message in enumerate(case.messages) if message.get("role") == "user"), None)
    if first is None:
        return [*(dict(message) for message in case.messages), {"role": "user", "content": case.input}]
    return [dict(message) for message in case.messages[: first + 1]]


def conversation_id(case_id: str) -> str:
    """The case that a turn belongs to; any other case belongs to itself."""
    # A case id may hold the mark itself; the last one is ours.
    head, mark, _ = case_id.rpartition(TURN)
    return head if mark else case_id


def each_turn(case: Case) -> list[Case]:
    """One case per assistant turn, each with the true history before it, in the order of the conversation.

    Turns of one conversation stand together, so that a provider that caches prefixes meets each of them warm.
    """
    whole = [*case.messages, *case.turn]
    asked = [n for n, message in enumerate(whole) if message.get("role") == "user"]
    parts: list[Case] = []
    for position, at in enumerate(asked):
        end = asked[position + 1] if position + 1 < len(asked) else len(whole)
        turn = tuple(whole[at + 1 : end])
        # Two messages of the user in a row: the first has no answer to replay.
        if not turn:
            continue
        last = position + 1 == len(asked)
        answers = [message for message in turn if message.get("role") == "assistant" and text_of(message)]
        parts.append(
            case.model_copy(
                update={
                    "id": f"{case.id}{TURN}{position + 1}",
                    "messages": tuple(whole[: at + 1]),
                    "turn": turn,
                    "tool_calls": calls_in(turn),
                    "input": text_of(whole[at]),
                    # References belong to the last turn: earlier turns have only what was recorded.
                    "output": case.output if last else (text_of(answers[-1]) if answers else None),
                    "approved": case.approved if last else None,
                    "revised": case.revised if last else None,
                    "expected": case.expected if last else None,
                    "expected_tools": case.expected_tools if last else None,
                    "provenance": case.provenance.model_copy(
                        update={"session_id": case.provenance.session_id or case.id}
                    ),
                }
            )
        )
    return parts or [case]
