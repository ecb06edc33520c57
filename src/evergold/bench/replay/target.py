"""A target under replay: the model acts step by step, its tool calls are answered from the record of the case."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import orjson

from evergold.bench.replay.record import Record, RecordedReply
from evergold.bench.replay.turns import next_user_message, opening
from evergold.calls.failures import failed
from evergold.conversation import text_of
from evergold.model.case import Case
from evergold.model.replay import OnUnrecorded, Replay
from evergold.model.run import Attempt, Usage
from evergold.model.tool_calls import ToolCall, calls_in
from evergold.seams import Target

Message = dict[str, Any]
UNKNOWN_CALL = "this call is not in the record"
INVENT = (
    "You stand in for a tool. Answer with the result it would plausibly give, as JSON and nothing else.\n"
    "Tool: {name}\nArguments: {args}\nEarlier results:\n{earlier}"
)


class ReplayTarget:
    """Wraps a target. One attempt is one whole trajectory."""

    def __init__(self, inner: Target, replay: Replay) -> None:
        self._inner = inner
        self._replay = replay

    @property
    def identity(self) -> str:
        return self._inner.identity

    @property
    def priced(self) -> bool:
        return bool(getattr(self._inner, "priced", True))

    async def close(self) -> None:
        close = getattr(self._inner, "close", None)
        if close is not None:
            await close()

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        """Play a case: answer calls from its record until the model answers in words, a limit, or an unknown call."""
        if not case.messages:
            return failed(case, trial, "not_replayable", "the case holds no conversation to replay")
        play = _Play(case, self._replay)
        while play.stopped is None and not play.finished:
            if play.steps >= self._replay.max_steps:
                play.stopped = f"the limit of {self._replay.max_steps} steps was reached"
                break
            step = await self._step(play, case, trial, seed)
            if step.error is not None:
                return step.model_copy(update={"metadata": play.metadata(), "usage": play.usage.plus(step.usage)})
            await self._take(play, step, trial, seed)
        return Attempt(
            case_id=case.id,
            trial=trial,
            output=play.output,
            tool_calls=tuple(play.calls),
            usage=play.usage,
            metadata=play.metadata(),
            finish_reason="stopped" if play.stopped else None,
        )

    async def _step(self, play: "_Play", case: Case, trial: int, seed: int | None) -> Attempt:
        if self._inner.identity == "recorded":
            return play.recorded_step(trial)
        now = case.model_copy(update={"messages": tuple(play.messages), "prompt": None})
        return await self._inner.attempt(now, trial, seed)

    async def _take(self, play: "_Play", step: Attempt, trial: int, seed: int | None) -> None:
        """Put the model's message into the conversation, and the results of its calls behind it."""
        made = play.say(step)
        if not made:
            play.answered(step.output)
            return
        for call in made:
            reply = play.record.answer(call)
            if reply is None:
                reply = await self._unrecorded(play, call, trial, seed)
            if reply is None:
                play.stopped = f"{call.name}: {UNKNOWN_CALL}"
                play.calls.append(call)
                continue
            play.result(call, reply)

    async def _unrecorded(self, play: "_Play", call: ToolCall, trial: int, seed: int | None) -> RecordedReply | None:
        play.unrecorded += 1
        if self._replay.on_unrecorded is OnUnrecorded.STOP:
            return None
        if self._replay.on_unrecorded is OnUnrecorded.ERROR:
            return RecordedReply(f"error: {UNKNOWN_CALL}; try another way", True, False)
        earlier = "\n".join(str(one.result)[:2000] for one in play.calls[-5:])
        text = INVENT.format(name=call.name, args=orjson.dumps(call.args).decode(), earlier=earlier)
        asked = Case(id=play.case.id, input=text, messages=({"role": "user", "content": text},))
        made = await self._inner.attempt(asked, trial, seed)
        play.usage = play.usage.plus(made.usage)
        play.invented += 1
        return (
            RecordedReply(made.output, False, False)
            if made.error is None
            else RecordedReply(f"error: {made.error}", True, False)
        )


class _Play:
    """One trajectory as it grows."""

    def __init__(self, case: Case, replay: Replay) -> None:
        self.case = case
        self._replay = replay
        self.messages: list[Message] = opening(case, replay.turns)
        self._begun = len(self.messages)
        self._script = [*case.messages[self._begun :], *case.turn]
        self.record = Record([*case.messages, *case.turn])
        self.calls: list[ToolCall] = []
        self.usage = Usage()
        self.steps = self.unrecorded = self.near = self.invented = 0
        self.output = ""
        self.stopped: str | None = None
        self.finished = False

    def say(self, step: Attempt) -> list[ToolCall]:
        """Append the assistant's message; give its calls with ids of their own."""
        self.steps += 1
        self.usage = self.usage.plus(step.usage)
        made = [call.model_copy(update={"id": f"call_{uuid4().hex[:12]}"}) for call in step.tool_calls]
        message: Message = {"role": "assistant", "content": step.output or None}
        if made:
            message["tool_calls"] = [_as_message(call) for call in made]
        self.messages.append(message)
        return made

    def result(self, call: ToolCall, reply: RecordedReply) -> None:
        self.near += reply.near
        self.calls.append(call.model_copy(update={"result": reply.result, "failed": reply.failed}))
        content = reply.result if isinstance(reply.result, str | list) else orjson.dumps(reply.result).decode()
        self.messages.append({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": content})

    def answered(self, output: str) -> None:
        """End with this answer, unless the recorded user goes on."""
        self.output = output
        following = next_user_message(self._script, self.messages[self._begun :], self._replay.turns)
        if following is None:
            self.finished = True
        else:
            self.messages.append(following)

    def recorded_step(self, trial: int) -> Attempt:
        """The next message of the recorded assistant."""
        said = [message for message in self._script if message.get("role") == "assistant"]
        if self.steps >= len(said):
            text = self.case.output or ""
            return Attempt(case_id=self.case.id, trial=trial, output=text, sends=0)
        message = said[self.steps]
        calls = tuple(call.model_copy(update={"id": None, "result": None}) for call in calls_in([message]))
        return Attempt(case_id=self.case.id, trial=trial, output=text_of(message), tool_calls=calls, sends=0)

    def metadata(self) -> dict[str, Any]:
        replay = {
            "turns": self._replay.turns.value,
            "steps": self.steps,
            "unrecorded": self.unrecorded,
            "near": self.near,
            "invented": self.invented,
        }
        if self.stopped is not None:
            replay["stopped"] = self.stopped
        return {"trajectory": self.messages[self._begun :], "replay": replay}


def _as_message(call: ToolCall) -> Mapping[str, Any]:
    arguments = orjson.dumps(call.args).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
