"""Putting prompts to a model: through the log, under the limits that all calls share, counted."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evergold.calls.caller import Caller
from evergold.generate.log import CallLog, request_key
from evergold.model.case import Case, CaseKind
from evergold.model.run import Attempt, Usage
from evergold.redact.default import DefaultRedactor
from evergold.seams import Target

# The id of a case is a key of the store; a purpose holds the whole question.
_LONGEST_ID = 200
Messages = Sequence[dict[str, Any]]
Ask = Callable[[str, Messages], Awaitable[Attempt]]
"""What a writer is given: a purpose for the log, and the conversation → the model's answer, or its error."""


@dataclass
class Spent:
    """What the calls came to; those answered from the log cost nothing this time."""

    calls: int = 0
    calls_from_log: int = 0
    failed_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    usage_from_log: Usage = field(default_factory=Usage)

    def as_report(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Asker:
    target: Target
    caller: Caller
    log: CallLog
    spent: Spent

    async def ask(self, purpose: str, messages: Messages) -> Attempt:
        """One answer of a chat model."""
        case = Case(
            id=purpose[:_LONGEST_ID],
            dataset="generation",
            kind=CaseKind.TASK,
            name=purpose,
            input=str(messages[-1]["content"]),
            messages=tuple(messages),
        )
        return await self.put(case)

    async def put(self, case: Case) -> Attempt:
        """One attempt at a case: from the log where it was answered before, else by a call."""
        # A target that shows its request is logged by the exact body
        # it sends, parameters included; others by the messages.
        request = getattr(self.target, "request", None)
        body = request(case, None) if request else {"messages": list(case.messages)}
        key = request_key(self.target.identity, body)
        entry = self.log.known(key)
        if entry is not None:
            known = Attempt.model_validate({"case_id": case.id, **entry["reply"]})
            self.spent.calls_from_log += 1
            self.spent.usage_from_log = self.spent.usage_from_log.plus(known.usage)
            return known
        logged = _Logged(self.target, self.log, self.spent, {"key": key, "purpose": case.name, "request": body})
        return await self.caller.call(logged, case)


@dataclass(frozen=True)
class _Logged:
    """A target whose every send is written down before its answer is used, the failed ones too."""

    target: Target
    log: CallLog
    spent: Spent
    entry: dict[str, Any]

    @property
    def identity(self) -> str:
        return self.target.identity

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        attempt = await self.target.attempt(case, trial, seed)
        self.spent.calls += 1
        self.spent.failed_calls += attempt.error is not None
        self.spent.usage = self.spent.usage.plus(attempt.usage)
        # Errors of HTTP clients quote addresses and headers, and the log is a file that people pass on.
        error = DefaultRedactor().redact(attempt.error)[0] if attempt.error else None
        reply = attempt.model_copy(update={"error": error}).model_dump(mode="json", exclude_defaults=True)
        await self.log.add({**self.entry, "target": self.identity, "reply": reply, "error": error})
        return attempt
