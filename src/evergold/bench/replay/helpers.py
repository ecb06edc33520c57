"""Models that stand in for what a replay lacks: the user of a conversation, and tools that were not recorded.

Who the user of a recorded conversation is and what they want is drafted for a person to review. Without a model a rule does
it: the first message is the goal; language, length of messages and the sentences that state
facts are the persona. A model writes a better text; where its reply is no draft, the rule stands in and the reason is kept.
"""

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from evergold.bench.replay.play import json_text
from evergold.calls.caller import Caller
from evergold.conversation import text_of
from evergold.model.case import Case
from evergold.model.run import Attempt, ReplayEnd, SimulatedUser, Usage
from evergold.model.tool_calls import ToolCall
from evergold.seams import Target
from evergold.text.markers import code_of
from evergold.text.words import language_of

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


class UserTurn(NamedTuple):
    """What the simulated user said, or how the conversation ended."""

    text: str | None
    end: ReplayEnd | None
    reason: str | None
    usage: Usage


async def invent(caller: Caller, target: Target, case: Case, call: ToolCall, earlier: Sequence[ToolCall]) -> Attempt:
    """Ask a model for the result of a call that was not recorded."""
    # The latest results only: an invented one must agree with what the model has just seen.
    results = "\n".join(str(one.result)[:EARLIER_CHARACTERS] for one in earlier[-EARLIER_CALLS:])
    schema = next((tool for tool in case.tools if _name(tool) == call.name), None)
    described = f"Its schema: {json_text(schema)}\n" if schema else ""
    text = INVENT.format(name=call.name, args=json_text(call.args), schema=described, earlier=results)
    return await _ask(caller, target, case, text)


async def _ask(caller: Caller, target: Target, case: Case, text: str) -> Attempt:
    return await caller.call(target, Case(id=case.id, input=text, messages=({"role": "user", "content": text},)))


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
    if not text:
        return UserTurn(None, ReplayEnd.GAVE_UP, "the simulated user said nothing", made.usage)
    # Anywhere in the message: models add a farewell before or after the mark.
    for mark, end in ((GOAL_REACHED, ReplayEnd.GOAL_REACHED), (GAVE_UP, ReplayEnd.GAVE_UP)):
        if mark in text.upper():
            return UserTurn(None, end, None, made.usage)
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


LANGUAGES = {"en": "English", "es": "Spanish", "fr": "French", "de": "German", "pt": "Portuguese", "it": "Italian"}
MOST_FACTS, MOST_CHARACTERS, MOST_ASKED = 20, 1500, 20_000
# A point inside a number or an address does not end a sentence.
SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?](?=\S)[^.!?。！？\n]*)*[.!?。！？]?")
# A capital that does not begin a sentence is taken for a name.
FACT = re.compile(r"\d|\S@\S|(?<=[^\W\d_] )[A-Z]\w+")
BY_RULE = "rule"
ASK = """Below is a conversation between a user and an assistant. Describe the user, so that an actor can play them against
another assistant. Answer with one JSON object and nothing else:
{{"goal": "what the user wants to reach, in one or two sentences", "persona": "who they are, their language, tone and length of
messages, and every fact that they state: names, numbers, dates, choices"}}
Write in the user's language. State only what the user says; leave out what only the assistant says.

<conversation>
{conversation}
</conversation>"""


class UserDraft(NamedTuple):
    """A simulated user that nobody has reviewed. `by` is the model that wrote it, or `rule`; `problem` why the rule did."""

    persona: str
    goal: str
    by: str = BY_RULE
    problem: str | None = None


def draft_by_rule(case: Case, problem: str | None = None) -> UserDraft | None:
    """Draft from the user's own messages; None where the case has none."""
    spoken = user_texts(case)
    if not spoken:
        return None
    known = LANGUAGES.get(language_of(" ".join(spoken)) or "")
    length = max(1, round(median(len(text.split()) for text in spoken)))
    style = f"Writes {f'in {known}, ' if known else ''}about {length} {'word' if length == 1 else 'words'} a message."
    # The first message is the goal already; facts are looked for in what follows.
    sentences = (sentence.strip() for text in spoken[1:] for sentence in SENTENCE.findall(text))
    facts: list[str] = []
    for sentence in dict.fromkeys(sentence for sentence in sentences if FACT.search(sentence)):
        if len(facts) == MOST_FACTS or sum(map(len, facts)) + len(sentence) > MOST_CHARACTERS:
            break
        facts.append(sentence)
    listed = "\nFacts the user gave:\n" + "\n".join(f"- {fact}" for fact in facts) if facts else ""
    goal = spoken[0]
    goal = goal if len(goal) <= MOST_CHARACTERS else f"{goal[:MOST_CHARACTERS].rsplit(maxsplit=1)[0]}…"
    return UserDraft(style + listed, goal, BY_RULE, problem)


async def draft_by_model(caller: Caller, target: Target, name: str, case: Case) -> UserDraft | None:
    """Let the model of this name draft; where it fails or answers something else, the rule does."""
    if not user_texts(case):
        return None
    # What both sides said, without tools; of a long conversation the beginning.
    messages = [(str(message.get("role")), text_of(message).strip()) for message in _messages(case)]
    lines = [f"{role}: {text}" for role, text in messages if role in ("user", "assistant") and text]
    conversation = "\n\n".join(lines or [f"user: {case.input}"])[:MOST_ASKED]
    made = await _ask(caller, target, case, ASK.format(conversation=conversation))
    if made.error is not None:
        return draft_by_rule(case, made.error)
    try:
        reply = orjson.loads(code_of(made.output, "json"))
        user = SimulatedUser(goal=reply["goal"], persona=reply["persona"])
    except (ValueError, KeyError, TypeError, ValidationError):
        return draft_by_rule(case, "the model's reply is no JSON object with goal and persona")
    return UserDraft(user.persona, user.goal, name)


def _messages(case: Case) -> list[dict[str, Any]]:
    return [dict(message) for message in (*case.messages, *case.turn)]


def user_texts(case: Case) -> list[str]:
    """What the user wrote, message by message; the input where the case has no messages."""
    texts = [text_of(message).strip() for message in _messages(case) if message.get("role") == "user"]
    return [text for text in texts if text] or ([case.input.strip()] if case.input.strip() else [])
