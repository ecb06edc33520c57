"""A target under replay: the model acts step by step, its tool calls are answered from the record of the case.

Each request to the model is a call of its own under the limits of the run (gate, budget, deadline, retries), and what it
added is on disk before the next request.

Apps that run their own code ask for the results of their tool calls while they work. A `python:` app asks in this
process, by `evergold.replay.tool` or its parameter `call_tool`; `http:` and `command:` apps ask at an address on this
machine. Every call becomes a message of the trajectory, as if a model had made it.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evergold import replay as app_side
from evergold.bench.replay.helpers import invent, next_turn
from evergold.bench.replay.play import Play, StepDraft, StepLog
from evergold.calls.budget import Budget
from evergold.calls.caller import Caller, Gate, RetryPolicy, close_all, failed_attempt
from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.limits import Values
from evergold.model.run import Attempt, OnUnrecorded, Replay, ReplayEnd, ReplayStep, ResultOrigin, SimulatedUser, Turns
from evergold.model.tool_calls import ToolCall
from evergold.seams import Target

# Bytes; arguments of a tool call beyond that are a mistake of the app.
MAX_BODY = 16_000_000
_ARGS: TypeAdapter[dict[str, Any]] = TypeAdapter(Values)


class _Handler(BaseHTTPRequestHandler):
    """POST of `{"name", "args"}`; 410 where the replay has ended, 404 for an address of no replay."""

    def __init__(self, sessions: Mapping[str, "_Turn"], *connection: Any) -> None:
        self._sessions = sessions
        super().__init__(*connection)

    def do_POST(self) -> None:
        status, body = self._answer()
        data = json.dumps(body, default=str).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self) -> tuple[int, dict[str, Any]]:
        session = self._sessions.get(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        if session is None or not 0 < length <= MAX_BODY:
            return 404, {"error": "no replay is under way at this address"}
        try:
            asked = json.loads(self.rfile.read(length))
            name, args = asked["name"], asked.get("args") or {}
            reply = session.ask(str(name), _ARGS.validate_python(args))
        except app_side.Stopped as problem:
            return app_side.GONE, {"error": str(problem)}
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
            return 400, {"error": 'send {"name": tool, "args": {…}} as JSON'}
        return 200, {"result": reply.result, "failed": reply.failed}

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the trajectory holds every call."""


class ToolServer:
    """An address on this machine at which apps in other processes ask; started when the first one needs it."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Turn] = {}
        self._server: ThreadingHTTPServer | None = None
        self._starting = threading.Lock()

    def answer_with(self, session: "_Turn") -> str:
        """Give a session an address that nobody can guess."""
        with self._starting:
            if self._server is None:
                self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self._sessions))
                threading.Thread(target=self._server.serve_forever, name="evergold-tools", daemon=True).start()
        # The path is the only secret: any program on this machine can reach the port.
        path = f"/{secrets.token_urlsafe(24)}"
        self._sessions[path] = session
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def forget(self, url: str) -> None:
        self._sessions.pop(f"/{url.rpartition('/')[2]}", None)

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


NO_GOAL = "the case states no goal of its user; write metadata.goal and metadata.persona"
TOOL_ERROR = "error: {reason}; try another way"
# Seconds for one request outside of a run, where no deadline is set.
_ALONE = 3600.0


@dataclass(frozen=True)
class Helpers:
    """Models beside the one under test: who plays the user, and who invents results. None: the model under test."""

    user: Target | None = None
    tools: Target | None = None


class _Turn:
    """One request to the model, as a target; a try that fails leaves the trajectory as it was.

    To the app that is asked it is the session that answers its tool calls, from whichever thread they come.
    """

    def __init__(self, target: "ReplayTarget", play: Play, caller: Caller) -> None:
        self.identity = target.identity
        self.target, self.play, self.caller = target, play, caller
        self.draft = StepDraft(play.record.copy())
        self._loop = asyncio.get_running_loop()
        # Parallel calls of an app are settled one after the other: the record is consumed in order.
        self._one_by_one = asyncio.Lock()
        self._url: str | None = None

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        if self.identity == "recorded":
            return self.play.recorded_step(trial)
        # A retry of the call begins from the state before it, also in what the record has given out.
        self.draft = StepDraft(self.play.record.copy())
        now = case.model_copy(update={"messages": tuple(self.play.messages), "prompt": None})
        before = app_side.current.set(self)
        try:
            made = await self.target.inner.attempt(now, trial, seed)
        finally:
            app_side.current.reset(before)
            if self._url is not None:
                self.target.server.forget(self._url)
                self._url = None
        if self.draft.stopped is not None:  # whatever the app made of it, the trajectory ended at that call
            return Attempt(case_id=case.id, trial=trial, usage=made.usage)
        return made

    def url(self) -> str:
        """The address at which another process asks; it exists from the first time that it is wanted."""
        self._url = self._url or self.target.server.answer_with(self)
        return self._url

    def ask(self, name: str, args: dict[str, Any]) -> app_side.ToolReply:
        """Answer a tool call of the app."""
        if not self._on_loop():
            # Another thread hands the work to the loop and waits; the loop is free meanwhile.
            return asyncio.run_coroutine_threadsafe(self._answer(name, args), self._loop).result()
        # On the loop itself waiting would be a deadlock: only what needs no waiting is answered.
        invents = self.play.replay.on_unrecorded is OnUnrecorded.MODEL
        if invents and self.draft.record.copy().answer(ToolCall(name=name, args=args)) is None:
            reason = "a plain function called from async code cannot wait for an invented result; make the tool async"
            done = self.draft.put(self._begin(name, args), reason, True, ResultOrigin.ERROR)
            return app_side.ToolReply(done.result, done.failed)
        settling = self._settle_new(name, args)
        try:
            settling.send(None)
        except StopIteration as ended:
            reply: app_side.ToolReply = ended.value
            return reply
        raise AssertionError("a recorded result is given without waiting")

    async def ask_async(self, name: str, args: dict[str, Any]) -> app_side.ToolReply:
        """Answer a tool call of an async app."""
        if self._on_loop():
            return await self._answer(name, args)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._answer(name, args), self._loop))

    def _on_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    async def _answer(self, name: str, args: dict[str, Any]) -> app_side.ToolReply:
        async with self._one_by_one:
            return await self._settle_new(name, args)

    async def _settle_new(self, name: str, args: dict[str, Any]) -> app_side.ToolReply:
        done = await self.settle(self._begin(name, args))
        if done is None:
            raise app_side.Stopped(self.draft.stopped)
        return app_side.ToolReply(done.result, done.failed)

    def _begin(self, name: str, args: dict[str, Any]) -> ToolCall:
        """Put a call of the app into the trajectory; raises `Stopped` where the replay has ended."""
        draft, play = self.draft, self.play
        made = sum(message["role"] == "assistant" for message in draft.messages)
        if draft.stopped is None and play.steps + made >= play.replay.max_steps:
            draft.end = ReplayEnd.STEP_LIMIT
            draft.stopped = f"the limit of {play.replay.max_steps} steps was reached"
        if draft.stopped is not None:
            raise app_side.Stopped(draft.stopped)
        return draft.take_reply(None, [ToolCall(name=name, args=_ARGS.validate_python(args))])[0]

    async def settle(self, call: ToolCall) -> ToolCall | None:
        """Put the result of a call into the draft; None where the trajectory ends at it."""
        draft, play, target = self.draft, self.play, self.target
        reply = draft.record.answer(call)
        if reply is not None:
            origin = ResultOrigin.NEAR if reply.near else ResultOrigin.RECORDED
            return draft.put(call, reply.result, reply.failed, origin, reply.number)
        reason = draft.record.reason(call)
        if play.replay.on_unrecorded is OnUnrecorded.STOP:
            draft.stop(call, reason)
            return None
        if play.replay.on_unrecorded is OnUnrecorded.ERROR:
            return draft.put(call, TOOL_ERROR.format(reason=reason), True, ResultOrigin.ERROR)
        earlier = [one.call for one in (*play.calls, *draft.calls)]
        made = await invent(self.caller, target.helpers.tools or target.inner, play.case, call, earlier)
        draft.helper_usage = draft.helper_usage.plus(made.usage)
        text = made.output if made.error is None else f"error: {made.error}"
        return draft.put(call, text, made.error is not None, ResultOrigin.INVENTED)

    async def step(self, made: Attempt, user: SimulatedUser | None) -> ReplayStep:
        """Make a step of what the model answered: put results behind its calls, and the user's message behind an answer."""
        draft = self.draft
        calls = draft.take_reply(made.output, made.tool_calls) if draft.stopped is None else []
        end, reason = None, None
        for call in calls:
            await self.settle(call)
        if draft.stopped is not None:
            end, reason = draft.end or ReplayEnd.UNRECORDED, draft.stopped
        # The recorded model says who speaks next; any other model goes on while it makes calls.
        elif made.metadata["next"] != "assistant" if "next" in made.metadata else not calls:
            end, reason = await self._hand_over(user)
        metadata = {name: value for name, value in made.metadata.items() if name in ("state", "recorded")}
        if user is not None and user.drafted and self.play.requests == 0:
            metadata["user_drafted"] = True
        return ReplayStep(
            messages=tuple(draft.messages),
            calls=tuple(draft.calls),
            output=made.output if end is not None or not calls else "",
            usage=made.usage,
            helper_usage=draft.helper_usage,
            latency_ms=made.latency_ms,
            end=end,
            reason=reason,
            metadata=metadata,
        )

    async def _hand_over(self, user: SimulatedUser | None) -> tuple[ReplayEnd | None, str | None]:
        """After an answer: the user's next message, or the end of the conversation."""
        play, draft, target = self.play, self.draft, self.target
        if play.replay.turns is not Turns.SIMULATED or user is None:
            following = play.next_user_message(draft.messages)
            if following is None:
                return ReplayEnd.ANSWERED, None
            draft.messages.append(following)
            return None, None
        messages = [*play.messages, *draft.messages]
        if sum(message.get("role") == "user" for message in messages) >= play.replay.max_turns:
            return ReplayEnd.TURN_LIMIT, f"the limit of {play.replay.max_turns} messages of the user was reached"
        spoken = await next_turn(self.caller, target.helpers.user or target.inner, user, play.case, messages)
        draft.helper_usage = draft.helper_usage.plus(spoken.usage)
        if spoken.text is not None:
            draft.messages.append({"role": "user", "content": spoken.text, "extra": {"replay": "simulated"}})
        return spoken.end, spoken.reason


class ReplayTarget:
    """Wraps a target. One attempt is one whole trajectory."""

    def __init__(
        self, inner: Target, replay: Replay, log: StepLog | None = None, helpers: Helpers | None = None
    ) -> None:
        self.inner, self._replay, self._log = inner, replay, log
        self.helpers = helpers or Helpers()
        self.server = ToolServer()

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def priced(self) -> bool:
        used = [target for target in (self.inner, self.helpers.user, self.helpers.tools) if target is not None]
        return all(bool(getattr(target, "priced", True)) for target in used)

    async def close(self) -> None:
        self.server.close()
        await close_all(self._log, self.inner, self.helpers.user, self.helpers.tools)

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        """Play a case outside of a run: no budget, no retries."""
        alone = Caller(Gate(1), Budget(), RetryPolicy(tries=1), _ALONE)
        return await self.attempt_by_steps(alone, case, trial, seed)

    async def attempt_by_steps(self, caller: Caller, case: Case, trial: int, seed: int | None) -> Attempt:
        """Play a case from where it was interrupted: until an answer, a limit, or a call that nobody can answer."""
        if not case.messages and self._replay.turns is not Turns.SIMULATED:
            return failed_attempt(case, trial, "not_replayable", "the case holds no conversation to replay")
        try:
            user = SimulatedUser.of(case.metadata)
        except BadInput as problem:
            return failed_attempt(case, trial, "not_replayable", problem.message)
        if user is None and self._replay.turns is Turns.SIMULATED:
            return failed_attempt(case, trial, "not_replayable", NO_GOAL)
        play = Play(case, self._replay)
        # Steps that are on disk are taken as they are: the model is not asked again for them.
        for step in self._log.read(case.id, trial) if self._log else ():
            play.add(step)
        while play.end is None:
            if (limit := play.over_limit()) is not None:
                play.end, play.reason = limit
                break
            turn = _Turn(self, play, caller)
            made = await caller.call(turn, case, trial, seed)
            if made.error is not None:
                return made.model_copy(update={"metadata": play.metadata(), "usage": play.total.plus(made.usage)})
            step = await turn.step(made, user)
            # On disk before the next request: a crash costs at most the request under way.
            if self._log is not None:
                await self._log.keep(case.id, trial, play.requests, step)
            play.add(step)
        return play.attempt(trial)
