"""Recorded conversations and models for tests of replay."""

import asyncio
from typing import Any

from evergold.bench.replay import Helpers, ReplayTarget
from evergold.bench.targets.programs import PythonTarget
from evergold.model.case import Case
from evergold.model.run import Attempt, Replay
from evergold.seams import Target
from tests.builders import a_case

Calls = list[list[tuple[str, dict[str, Any]]]]


def call(id: str, name: str, args: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": args}}


def said(text: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": text} | ({"tool_calls": list(calls)} if calls else {})


def asked(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def result(id: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def flight_case(id: str = "c1", **more: Any) -> Case:
    """A second user turn answered with a look-up, two parallel calls and words."""
    fields: dict[str, Any] = {
        "messages": (
            {"role": "system", "content": "You are an agent."},
            asked("Hello"),
            said("What do you need?"),
            asked("Cancel AB12 and refund it"),
        ),
        "turn": (
            said(None, call("1", "find", '{"id": "AB12"}')),
            result("1", "open"),
            said(None, call("2", "cancel", '{"id": "AB12"}'), call("3", "refund", '{"id": "AB12", "amount": 120}')),
            result("2", "cancelled"),
            result("3", "refunded"),
            said("Done."),
        ),
        "output": "Done.",
    }
    return a_case(id, **fields | more)


def long_case(id: str, steps: int) -> Case:
    """One user message answered with this many calls, one after the other, then words."""
    turn: list[dict[str, Any]] = []
    for number in range(steps):
        turn += [said(None, call(f"{number}", "look", f'{{"page": {number}}}')), result(f"{number}", f"page {number}")]
    return a_case(id, messages=(asked("Read everything"),), turn=(*turn, said("Done.")), output="Done.")


STEPS: Calls = [
    [("find", {"id": "AB12"})],
    [("cancel", {"id": "AB12"}), ("refund", {"id": "AB12", "amount": 120})],
]


def played(target: Target, case: Case | None = None, helpers: Helpers | None = None, **options: Any) -> Attempt:
    """The attempt of a replay that nobody keeps."""
    replay = ReplayTarget(target, Replay(**options), None, helpers)

    async def play() -> Attempt:
        try:
            return await replay.attempt(case or flight_case(), 0, None)
        finally:
            await replay.close()

    return asyncio.run(play())


def scripted(steps: Calls, answer: str = "Done.") -> Target:
    """A model that makes these calls, one list a step, then answers."""

    def act(messages: list[dict[str, Any]]) -> Any:
        last_user = max(n for n, message in enumerate(messages) if message["role"] == "user")
        done = sum(message["role"] == "assistant" for message in messages[last_user:])
        if done >= len(steps):
            return answer
        return {"output": "", "tool_calls": [{"name": name, "args": args} for name, args in steps[done]]}

    return PythonTarget("scripted", act, {})
