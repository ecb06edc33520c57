"""Decide whether a case can be replayed, with the reason, and estimate the requests and characters of its replay."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evergold.bench.replay.play import json_text
from evergold.bench.replay.turns import each_turn, opening
from evergold.conversation.pairs import is_cut
from evergold.model.case import Case
from evergold.model.run import Replay, Turns
from evergold.model.tool_calls import calls_in

NO_CONVERSATION = "it holds no conversation"
NO_TURN = "nothing of the assistant is recorded"
CUT = "a text was cut on arrival; raise server.max_text_kb to keep such texts whole"


class Requests(NamedTuple):
    """What a replay that follows its record sends and gets."""

    calls: int
    sent: int
    answered: int


def obstacles(case: Case) -> Iterator[str]:
    """Why a case cannot be replayed, one reason after the other; nothing where it can."""
    whole = [*case.messages, *case.turn]
    if not case.messages:
        yield NO_CONVERSATION
        return
    if not any(message.get("role") == "assistant" for message in whole):
        yield NO_TURN
    lost = {call.name or "a tool without a name": None for call in calls_in(whole) if call.result is None}
    yield from (f"a call of {name} has no result" for name in lost)
    if any(is_cut(message.get("content")) or _is_cut_call(message) for message in whole):
        yield CUT


def requests_of(case: Case, replay: Replay) -> Requests:
    """Count the requests of a replay that does what was recorded: each sends everything before it again."""
    if replay.turns is Turns.EACH:
        parts = [requests_of(part, Replay()) for part in each_turn(case)]
        return Requests(*(sum(part[n] for part in parts) for n in range(3)))
    whole = [*case.messages, *case.turn]
    begun = len(opening(case, replay.turns)) if case.messages else 0
    before = size_of_tools(case) + sum(size_of(message) for message in whole[:begun])
    calls = sent = answered = 0
    for message in whole[begun:]:
        if message.get("role") == "assistant":
            calls, sent, answered = calls + 1, sent + before, answered + size_of(message)
        before += size_of(message)
    return Requests(calls, sent, answered) if calls else Requests(1, before, len(case.output or ""))


def size_of_tools(case: Case) -> int:
    """Count the characters of the schemas that are offered with each request."""
    return sum(len(json_text(tool)) for tool in case.tools)


def size_of(message: Mapping[str, Any]) -> int:
    """Count the characters of a message, its tool calls with it."""
    calls: Sequence[Any] = message.get("tool_calls") or ()
    return len(str(message.get("content") or "")) + sum(len(str(call.get("function", call))) for call in calls)


def _is_cut_call(message: Mapping[str, Any]) -> bool:
    return any(
        is_cut(str((call.get("function") or {}).get("arguments") or "")) for call in message.get("tool_calls") or ()
    )
