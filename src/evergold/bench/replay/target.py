"""A target under replay: the model acts step by step, its tool calls are answered from the record of the case.

Each request to the model is a call of its own under the limits of the run (gate, budget, deadline, retries), and what it
added is on disk before the next request.
"""

from dataclasses import dataclass
from typing import Any

from evergold.bench.replay.apps import AppTools, ToolServer
from evergold.bench.replay.helpers import invent, next_turn
from evergold.bench.replay.play import NoLog, Play, StepDraft, StepLog
from evergold.calls.budget import Budget
from evergold.calls.caller import Caller, Gate, RetryPolicy, failed
from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.run import Attempt, OnUnrecorded, Replay, ReplayEnd, ReplayStep, ResultOrigin, SimulatedUser, Turns
from evergold.model.tool_calls import ToolCall
from evergold.seams import Target

NO_GOAL = "the case states no goal of its user; write metadata.goal and metadata.persona"
TOOL_ERROR = "error: {reason}; try another way"
# Seconds for one request outside of a run, where no deadline is set.
_ALONE = 3600.0


@dataclass(frozen=True)
class Helpers:
    """Models beside the one under test: who plays the user, and who invents results. None: the model under test."""

    user: Target | None = None
    tools: Target | None = None


class ReplayTarget:
    """Wraps a target. One attempt is one whole trajectory."""

    def __init__(
        self, inner: Target, replay: Replay, log: StepLog | None = None, helpers: Helpers | None = None
    ) -> None:
        self._inner = inner
        self._replay = replay
        self._log: StepLog = log or NoLog()
        self._helpers = helpers or Helpers()
        self._server = ToolServer()

    @property
    def identity(self) -> str:
        return self._inner.identity

    @property
    def priced(self) -> bool:
        used = [target for target in (self._inner, self._helpers.user, self._helpers.tools) if target is not None]
        return all(bool(getattr(target, "priced", True)) for target in used)

    async def close(self) -> None:
        self._server.close()
        for part in (self._log, self._inner, self._helpers.user, self._helpers.tools):
            close = getattr(part, "close", None)
            if close is not None:
                await close()

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        """Play a case outside of a run: no budget, no retries."""
        alone = Caller(Gate(1), Budget(), RetryPolicy(tries=1), _ALONE)
        return await self.attempt_by_steps(alone, case, trial, seed)

    async def attempt_by_steps(self, caller: Caller, case: Case, trial: int, seed: int | None) -> Attempt:
        """Play a case from where it was interrupted: until an answer, a limit, or a call that nobody can answer."""
        if not case.messages and self._replay.turns is not Turns.SIMULATED:
            return failed(case, trial, "not_replayable", "the case holds no conversation to replay")
        try:
            user = SimulatedUser.of(case.metadata)
        except BadInput as problem:
            return failed(case, trial, "not_replayable", problem.message)
        if user is None and self._replay.turns is Turns.SIMULATED:
            return failed(case, trial, "not_replayable", NO_GOAL)
        play = Play(case, self._replay)
        # Steps that are on disk are taken as they are: the model is not asked again for them.
        for step in self._log.kept(case.id, trial):
            play.add(step)
        while play.end is None:
            if (limit := play.over_limit()) is not None:
                play.end, play.reason = limit
                break
            turn = _Turn(self, play, caller)
            made = await caller.call(turn, case, trial, seed)
            if made.error is not None:
                return made.model_copy(update={"metadata": play.metadata(), "usage": play.total.plus(made.usage)})
            step = await self._step(turn, made, user)
            # On disk before the next request: a crash costs at most the request under way.
            await self._log.keep(case.id, trial, play.requests, step)
            play.add(step)
        return play.attempt(trial)

    async def _step(self, turn: "_Turn", made: Attempt, user: SimulatedUser | None) -> ReplayStep:
        """Make a step of what the model answered: put results behind its calls, and the user's message behind an answer."""
        draft, play = turn.draft, turn.play
        calls = draft.take_reply(made.output, made.tool_calls) if draft.stopped is None else []
        end: ReplayEnd | None = None
        reason: str | None = None
        for call in calls:
            await self.settle(turn, call)
        if draft.stopped is not None:
            end, reason = draft.end or ReplayEnd.UNRECORDED, draft.stopped
        # The recorded model says who speaks next; any other model goes on while it makes calls.
        elif made.metadata["next"] != "assistant" if "next" in made.metadata else not calls:
            end, reason = await self._hand_over(turn, user)
        return ReplayStep(
            messages=tuple(draft.messages),
            calls=tuple(draft.calls),
            output=made.output if end is not None or not calls else "",
            usage=made.usage,
            helper_usage=draft.helper_usage,
            latency_ms=made.latency_ms,
            end=end,
            reason=reason,
            metadata={name: value for name, value in made.metadata.items() if name in ("state", "recorded")}
            | ({"user_drafted": True} if user is not None and user.drafted and play.requests == 0 else {}),
        )

    async def _hand_over(self, turn: "_Turn", user: SimulatedUser | None) -> tuple[ReplayEnd | None, str | None]:
        """After an answer: the user's next message, or the end of the conversation."""
        play, draft = turn.play, turn.draft
        if play.replay.turns is not Turns.SIMULATED or user is None:
            following = play.next_recorded_user_message(draft.messages)
            if following is None:
                return ReplayEnd.ANSWERED, None
            draft.messages.append(following)
            return None, None
        messages = [*play.messages, *draft.messages]
        if sum(message.get("role") == "user" for message in messages) >= play.replay.max_turns:
            return ReplayEnd.TURN_LIMIT, f"the limit of {play.replay.max_turns} messages of the user was reached"
        spoken = await next_turn(turn.caller, self._helpers.user or self._inner, user, play.case, messages)
        draft.helper_usage = draft.helper_usage.plus(spoken.usage)
        if spoken.text is not None:
            draft.messages.append({"role": "user", "content": spoken.text, "extra": {"replay": "simulated"}})
        return spoken.end, spoken.reason

    async def settle(self, turn: "_Turn", call: ToolCall) -> ToolCall | None:
        """Put the result of a call into the draft of a step; None where the trajectory ends at it."""
        draft, play = turn.draft, turn.play
        reply = draft.record.answer(call)
        if reply is not None:
            return draft.answer(call, reply)
        reason = draft.record.reason(call)
        if self._replay.on_unrecorded is OnUnrecorded.STOP:
            draft.stop(call, reason)
            return None
        if self._replay.on_unrecorded is OnUnrecorded.ERROR:
            return draft.make_up(call, TOOL_ERROR.format(reason=reason), True, ResultOrigin.ERROR)
        earlier = [one.call for one in (*play.calls, *draft.calls)]
        made = await invent(turn.caller, self._helpers.tools or self._inner, play.case, call, earlier)
        draft.helper_usage = draft.helper_usage.plus(made.usage)
        return draft.make_up(call, made.text, made.failed, ResultOrigin.INVENTED)


class _Turn:
    """One request to the model, as a target: a try that fails leaves the trajectory as it was."""

    def __init__(self, replay: ReplayTarget, play: Play, caller: Caller) -> None:
        self._replay = replay
        self.play = play
        self.caller = caller
        self.draft = StepDraft(play.record.copy())

    @property
    def identity(self) -> str:
        return self._replay.identity

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        inner: Any = self._replay._inner
        if inner.identity == "recorded":
            return self.play.recorded_step(trial)
        # A retry of the call begins from the state before it, also in what the record has given out.
        self.draft = StepDraft(self.play.record.copy())
        now = case.model_copy(update={"messages": tuple(self.play.messages), "prompt": None})
        with AppTools(self._replay._server, self).open():
            made: Attempt = await inner.attempt(now, trial, seed)
        if self.draft.stopped is not None:  # whatever the app made of it, the trajectory ended at that call
            return Attempt(case_id=case.id, trial=trial, usage=made.usage)
        return made

    async def settle(self, call: ToolCall) -> ToolCall | None:
        return await self._replay.settle(self, call)
