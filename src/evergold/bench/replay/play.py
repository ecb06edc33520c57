"""One trajectory as it grows: the conversation so far, the state of the record, and what was spent.

Steps of trajectories are on disk before the next step begins, so that an interrupted trajectory goes on after them.
Before a replay: whether a case can be replayed, and about how many requests and characters that takes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import orjson

from evergold.bench.replay.record import Record, each_turn, opening_messages
from evergold.calls.caller import Journal
from evergold.conversation import text_of
from evergold.conversation.pairs import is_cut
from evergold.model.case import Case
from evergold.model.run import Attempt, Replay, ReplayedCall, ReplayEnd, ReplayStep, ResultOrigin, Turns, Usage
from evergold.model.tool_calls import ToolCall, calls_in
from evergold.store.run.attempts import StepRow, StepStore

Message = dict[str, Any]


class StepDraft:
    """The messages and calls that a step adds, before it is kept."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.messages: list[Message] = []
        self.calls: list[ReplayedCall] = []
        self.stopped: str | None = None
        self.end: ReplayEnd | None = None
        self.helper_usage = Usage()

    def take_reply(self, text: str | None, calls: Sequence[ToolCall] = ()) -> list[ToolCall]:
        """Append the assistant's message; give its calls with ids of their own."""
        arguments = [json_text(call.args) for call in calls]
        made = [
            # Arguments go through JSON once, so that what is stored and what is compared are the same values.
            ToolCall.model_construct(name=call.name, args=orjson.loads(args), id=f"call_{uuid4().hex[:12]}")
            for call, args in zip(calls, arguments, strict=True)
        ]
        message: Message = {"role": "assistant", "content": text or None}
        if made:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": args}}
                for call, args in zip(made, arguments, strict=True)
            ]
        self.messages.append(message)
        return made

    def stop(self, call: ToolCall, reason: str) -> None:
        """End the trajectory at a call that has no result."""
        self.stopped = self.stopped or f"{call.name}: {reason}"
        self.calls.append(ReplayedCall(call=call, origin=ResultOrigin.NONE))

    def put(
        self, call: ToolCall, result: Any, failed: bool, origin: ResultOrigin, number: int | None = None
    ) -> ToolCall:
        """Append a result; one that the record does not have in these words is marked in the message."""
        extra: Message = {} if origin is ResultOrigin.RECORDED else {"replay": origin.value}
        if origin is ResultOrigin.NEAR and number is not None:
            extra["recorded_args"] = self.record.calls[number].args
        if failed:
            extra["failed"] = True
        done = call.model_copy(update={"result": result, "failed": failed})
        self.calls.append(ReplayedCall(call=done, origin=origin, recorded=number))
        # Text and lists of parts are valid contents of a message; anything else becomes JSON text.
        content = result if isinstance(result, str | list) else json_text(result)
        message: Message = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": content}
        self.messages.append(message | ({"extra": extra} if extra else {}))
        return done


class Play:
    """The state of a trajectory; `add` is the only way it changes, also when kept steps are read back."""

    def __init__(self, case: Case, replay: Replay) -> None:
        self.case, self.replay = case, replay
        self.messages: list[Message] = opening_messages(case, replay.turns)
        self.begun = len(self.messages)
        whole = [*case.messages, *case.turn]
        self._script = whole[self.begun :]
        self.record = Record(whole, self.begun)
        self.calls: list[ReplayedCall] = []
        self.usage = self.helper_usage = Usage()
        self.spent: list[dict[str, Any]] = []
        self.requests = self.steps = 0
        self.seconds = 0.0
        self.output = ""
        self.end: ReplayEnd | None = None
        self.reason: str | None = None
        self.metadata_of_app: dict[str, Any] = {}

    def add(self, step: ReplayStep) -> None:
        """Take a step into the trajectory."""
        self.requests += 1
        self.messages += step.messages
        self.steps += sum(message["role"] == "assistant" for message in step.messages)
        self.calls += step.calls
        self.record.take(call.recorded for call in step.calls if call.recorded is not None)
        self.usage = self.usage.plus(step.usage)
        self.helper_usage = self.helper_usage.plus(step.helper_usage)
        self.seconds += (step.latency_ms or 0.0) / 1000
        spent = {
            # Where the first message of the step stands in the trajectory.
            "message": len(self.messages) - len(step.messages) - self.begun,
            "input_tokens": step.usage.input_tokens,
            "output_tokens": step.usage.output_tokens,
            "cost": step.usage.cost,
            "latency_ms": step.latency_ms,
        }
        self.spent.append(spent)
        self.output = step.output or self.output
        # The end of the last step holds; a step without one lets the trajectory go on.
        self.end, self.reason = step.end, step.reason
        self.metadata_of_app |= step.metadata

    def over_limit(self) -> tuple[ReplayEnd, str] | None:
        """The limit that this trajectory has reached, in words; None while it may go on."""
        limits, total = self.replay, self.total
        tokens = total.input_tokens + total.output_tokens
        for end, used, most, words in (
            (ReplayEnd.STEP_LIMIT, self.steps, limits.max_steps, "{} steps"),
            (ReplayEnd.TOKEN_LIMIT, tokens, limits.max_tokens, "{:,} tokens"),
            # A model without a known price never reaches a limit in money; such a run is refused before it begins.
            (ReplayEnd.COST_LIMIT, total.cost or 0.0, limits.max_cost, "${:g}"),
            (ReplayEnd.TIME_LIMIT, self.seconds, limits.max_seconds, "{:g} s"),
        ):
            if most is not None and used >= most:
                return end, f"the limit of {words.format(most)} was reached"
        return None

    @property
    def total(self) -> Usage:
        """What the model and its helpers took together."""
        return self.usage.plus(self.helper_usage)

    def next_user_message(self, added: Sequence[Message]) -> Message | None:
        """The recorded user's next message after an answer; None when the conversation is over."""
        if self.replay.turns is not Turns.ALL:
            return None
        spoken = [dict(message) for message in self._script if message.get("role") == "user"]
        sent = sum(message.get("role") == "user" for message in (*self.messages[self.begun :], *added))
        return spoken[sent] if sent < len(spoken) else None

    def recorded_step(self, trial: int) -> Attempt:
        """The next message of the recorded assistant; `next` says whose message follows it and the results of its calls."""
        # A recorded assistant may speak several times in a row, for instance between tool calls.
        spoken = [n for n, message in enumerate(self._script) if message.get("role") == "assistant"]
        if self.steps >= len(spoken):
            marks = {"recorded": True, "next": None}
            return Attempt(case_id=self.case.id, trial=trial, output=self.case.output or "", sends=0, metadata=marks)
        at = spoken[self.steps]
        text, calls = text_of(self._script[at]), calls_in([self._script[at]])
        roles = (message.get("role") for message in self._script[at + 1 :])
        marks = {"recorded": True, "next": next((role for role in roles if role != "tool"), None)}
        # Ids are given anew in each replay, because results are tied to calls by id.
        made = tuple(call.model_copy(update={"id": None}) for call in calls)
        return Attempt(case_id=self.case.id, trial=trial, output=text, tool_calls=made, sends=0, metadata=marks)

    def attempt(self, trial: int) -> Attempt:
        """The trajectory as an attempt."""
        # A trajectory that stopped has no answer, even if the model said something on the way.
        stopped = self.end is not None and not self.end.has_answer
        return Attempt(
            case_id=self.case.id,
            trial=trial,
            output="" if stopped else self.output,
            tool_calls=tuple(one.call for one in self.calls),
            usage=self.total,
            latency_ms=round(self.seconds * 1000, 3),
            metadata={**self.metadata_of_app, **self.metadata()},
            finish_reason="stopped" if stopped else None,
        )

    def metadata(self) -> dict[str, Any]:
        """What a replay says of itself in its attempt: the messages, and how it went."""
        origins = [one.origin for one in self.calls]
        known = (ResultOrigin.RECORDED, ResultOrigin.NEAR)
        replay: dict[str, Any] = {
            "turns": self.replay.turns.value,
            "steps": self.steps,
            "unrecorded": sum(origin not in known for origin in origins),
            "near": origins.count(ResultOrigin.NEAR),
            "invented": origins.count(ResultOrigin.INVENTED),
            "calls": [origin.value for origin in origins],
            "spent": self.spent,
        }
        if self.replay.turns is Turns.SIMULATED:
            replay["helper_usage"] = self.helper_usage.model_dump(mode="json")
        if self.end is not None:
            replay["ended"] = self.end.value
            if not self.end.has_answer:
                replay["stopped"] = self.reason
        return {"trajectory": self.messages[self.begun :], "replay": replay}


def json_text(value: Any) -> str:
    """A value as JSON that can be stored: half a surrogate pair becomes a question mark."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, default=str, ensure_ascii=False).encode("utf-8", "replace").decode()


class StepLog:
    """Keeps the steps of one run in the store; steps that end together share one commit."""

    def __init__(self, store: StepStore, run_id: str) -> None:
        self._store, self._run_id = store, run_id
        self._journal: Journal[StepRow] = Journal(partial(store.add, run_id))
        self.close = self._journal.close  # waits for the commit under way

    def read(self, case_id: str, trial: int) -> Sequence[ReplayStep]:
        """The steps of a trajectory that was interrupted, in order."""
        return self._store.steps(self._run_id, case_id, trial)

    async def keep(self, case_id: str, trial: int, number: int, step: ReplayStep) -> None:
        """Store a step; return when it is on disk."""
        await self._journal.add(StepRow(case_id, trial, number, step))


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
    sent = [
        (call.get("function") or {}).get("arguments") for message in whole for call in message.get("tool_calls") or ()
    ]
    if any(
        is_cut(text) for text in (*(message.get("content") for message in whole), *(str(args or "") for args in sent))
    ):
        yield CUT


def requests_of(case: Case, replay: Replay) -> Requests:
    """Count the requests of a replay that does what was recorded: each sends everything before it again."""
    if replay.turns is Turns.EACH:
        parts = [requests_of(part, Replay()) for part in each_turn(case)]
        return Requests(*(sum(part[n] for part in parts) for n in range(3)))
    whole = [*case.messages, *case.turn]
    begun = len(opening_messages(case, replay.turns)) if case.messages else 0
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
