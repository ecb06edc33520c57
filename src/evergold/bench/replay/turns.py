"""Choose the turns of a conversation to play: the last, each with the true history, or all in order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evergold.conversation import text_of
from evergold.model.case import Case
from evergold.model.run import Replay, Turns
from evergold.model.tool_calls import calls_in

Message = dict[str, Any]
TURN = "#turn-"


def opening(case: Case, turns: Turns) -> list[Message]:
    """The messages that stand before the first step."""
    if turns in (Turns.LAST, Turns.EACH):
        return [dict(message) for message in case.messages]
    first = next((n for n, message in enumerate(case.messages) if message.get("role") == "user"), None)
    if first is None:
        return [*(dict(message) for message in case.messages), {"role": "user", "content": case.input}]
    return [dict(message) for message in case.messages[: first + 1]]


def next_user_message(script: Sequence[Mapping[str, Any]], played: Sequence[Message], turns: Turns) -> Message | None:
    """The recorded user's next message after an answer; None when the conversation is over."""
    if turns is not Turns.ALL:
        return None
    spoken = [dict(message) for message in script if message.get("role") == "user"]
    sent = sum(message.get("role") == "user" for message in played)
    return spoken[sent] if sent < len(spoken) else None


def replayable_cases(cases: Iterable[Case], replay: Replay) -> Iterator[Case]:
    """The cases of a replay: as they are, or with `each` one per assistant turn, in the order of the conversation.

    Turns of one conversation stand together, so that a provider that caches prefixes meets each of them warm.
    """
    for case in cases:
        yield from each_turn(case) if replay.turns is Turns.EACH else (case,)


def conversation_id(case_id: str) -> str:
    """The case that a turn belongs to; any other case belongs to itself."""
    # A case id may hold the mark itself; the last one is ours.
    head, mark, _ = case_id.rpartition(TURN)
    return head if mark else case_id


def each_turn(case: Case) -> list[Case]:
    """One case per assistant turn, each with the true history before it."""
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
