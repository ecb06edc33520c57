"""Models that stand in for what a replay lacks: the user of a conversation, and tools that were not recorded."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evergold.bench.replay.play import json_text
from evergold.calls.caller import Caller
from evergold.conversation import text_of
from evergold.model.case import Case
from evergold.model.replay import SimulatedUser
from evergold.model.run import Usage
from evergold.model.tool_calls import ToolCall
from evergold.model.trajectory import ReplayEnd
from evergold.seams import Target

GOAL_REACHED = "[GOAL REACHED]"
GAVE_UP = "[GAVE UP]"
PLAY_USER = """You play a user who talks to an assistant. Stay in this role; you are not the assistant.

Who you are: {persona}
What you want: {goal}

Write only your next message, in the language of the conversation, a few sentences at most. State a fact only when the
assistant needs it, and none that the lines above do not give you. When what you want is done, write {reached}. When the
assistant cannot or will not do it and you would leave, write {gave_up}."""
INVENT = (
    "You stand in for a tool. Answer with the result it would plausibly give, as JSON and nothing else.\n"
    "Tool: {name}\nArguments: {args}\n{schema}Earlier results:\n{earlier}"
)
# Calls and characters that are shown to the model that invents: enough to be consistent, cheap enough to ask often.
EARLIER_CALLS, EARLIER_CHARACTERS = 5, 2000


class Invented(NamedTuple):
    """A result that a model made up, or the reason why it could not."""

    text: str
    failed: bool
    usage: Usage


class UserTurn(NamedTuple):
    """What the simulated user said, or how the conversation ended."""

    text: str | None
    end: ReplayEnd | None
    reason: str | None
    usage: Usage


async def invent(caller: Caller, target: Target, case: Case, call: ToolCall, earlier: Sequence[ToolCall]) -> Invented:
    """Ask a model for the result of a call that was not recorded."""
    # The latest results only: an invented one must agree with what the model has just seen.
    results = "\n".join(str(one.result)[:EARLIER_CHARACTERS] for one in earlier[-EARLIER_CALLS:])
    schema = next((tool for tool in case.tools if _name(tool) == call.name), None)
    described = f"Its schema: {json_text(schema)}\n" if schema else ""
    text = INVENT.format(name=call.name, args=json_text(call.args), schema=described, earlier=results)
    asked = Case(id=case.id, input=text, messages=({"role": "user", "content": text},))
    made = await caller.call(target, asked)
    if made.error is not None:
        return Invented(f"error: {made.error}", True, made.usage)
    return Invented(made.output, False, made.usage)


async def next_turn(
    caller: Caller, target: Target, user: SimulatedUser, case: Case, messages: Sequence[Mapping[str, Any]]
) -> UserTurn:
    """Let a model write the user's next message, or end the conversation."""
    rules = PLAY_USER.format(persona=user.persona, goal=user.goal, reached=GOAL_REACHED, gave_up=GAVE_UP)
    asked = Case(id=case.id, input=user.goal, messages=({"role": "system", "content": rules}, *_other_side(messages)))
    made = await caller.call(target, asked)
    if made.error is not None:
        return UserTurn(None, ReplayEnd.GAVE_UP, f"the model that plays the user failed: {made.error}", made.usage)
    text = made.output.strip()
    upper = text.upper()
    # Anywhere in the message: models add a farewell before or after the mark.
    if GOAL_REACHED in upper:
        return UserTurn(None, ReplayEnd.GOAL_REACHED, None, made.usage)
    if GAVE_UP in upper or not text:
        reason = None if text else "the simulated user said nothing"
        return UserTurn(None, ReplayEnd.GAVE_UP, reason, made.usage)
    return UserTurn(text, None, None, made.usage)


def _other_side(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The conversation as the user sees it: its own messages are the assistant's, tools and instructions are hidden."""
    roles = {"user": "assistant", "assistant": "user"}
    return [
        {"role": roles[str(message["role"])], "content": text}
        for message in messages
        if message.get("role") in roles and (text := text_of(dict(message)))
    ]


def _name(tool: Mapping[str, Any]) -> Any:
    function = tool.get("function")
    return (function if isinstance(function, Mapping) else tool).get("name")
