"""Traces and spans while they happen. This is the code that runs inside the app's own calls, so it does little: note
the time, keep what was given, hand the whole over at the end. Formatting and delivery happen in another thread.

The trace or span one is in is a context variable, so nesting follows the code through `await` and into tasks.
"""

import os
import time
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Protocol, Self

import orjson

SCORE_SOURCES = ("system", "user", "human", "llm_judge")

# A context variable and no thread local: it follows `await` and is copied into tasks.
current: ContextVar["Step | None"] = ContextVar("evergold_current_step", default=None)


class Sink(Protocol):
    """Where finished records go."""

    def hand(self, kind: str, record: dict[str, Any], size: int) -> None: ...

    def refuse(self, why: str) -> None: ...


def new_trace_id() -> str:
    """32 hexadecimal digits that begin with the time, so that neighbours in time are neighbours on the disk."""
    # 12 digits of time and 20 of chance: 32, as OpenTelemetry's trace ids.
    return f"{int(time.time() * 1000):012x}{os.urandom(10).hex()}"


def new_span_id() -> str:
    return os.urandom(8).hex()


def as_text(value: Any) -> str | None:
    """Text as it is, anything else as JSON, or as Python shows it where JSON cannot."""
    if value is None or isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError, RecursionError):
        return safe_repr(value)


def safe_repr(value: Any) -> str:
    """A value as Python shows it; an object of the app may even fail at that."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"


def score_value(value: Any) -> Any:
    """The number a score is given as, whichever library made it; what is no number stays as it is."""
    # A text is not converted: "0.5" is more likely a mistake than a score.
    if isinstance(value, (float, int, str)):
        return value
    try:
        return float(value)
    except Exception:
        return value


def find_fault(trace_id: Any, name: Any, value: Any, source: Any) -> str | None:
    """What is wrong with a score, or None."""
    if not trace_id:
        return f"score {safe_repr(name)} names no trace"
    if not isinstance(name, str) or not name:
        return f"a score needs a name, not {safe_repr(name)}"
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        return f"score {name!r} = {safe_repr(value)} is not a number from 0 to 1"
    if source not in SCORE_SOURCES:
        return f"score {name!r} has source {safe_repr(source)}; use one of {', '.join(SCORE_SOURCES)}"
    return None


class Step:
    """What traces and spans have in common: a beginning, an end, input, output, and the way in and out of `with`."""

    noun: str

    __slots__ = ("_root", "_token", "ended", "failed", "id", "input", "metadata", "name", "output", "started")

    def __init__(
        self, root: "RecordedTrace | None", id: str, name: str, input: Any, metadata: dict[str, Any] | None
    ) -> None:
        self._root, self.id, self.name, self.input = root, id, name, input
        self.output: Any = None
        self.metadata = metadata or {}
        self.failed: str | None = None
        self.started = time.time()
        self.ended: float | None = None
        self._token: Token[Step | None] | None = None

    def span(
        self, name: str = "", *, kind: str = "span", input: Any = None, metadata: dict[str, Any] | None = None
    ) -> "RecordedSpan":
        """A step inside this one. `kind`: llm, tool, retriever, agent, chain, embedding or span."""
        return RecordedSpan(self, name, kind, input, metadata)

    def _finish(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._token = current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            try:
                current.reset(self._token)
            # The token belongs to another context: the step was left in another task or thread than it was entered in.
            except ValueError:
                current.set(None)
            self._token = None
            # Generators that were closed in another order than they were opened in would leave us inside one that ended.
            step = current.get()
            if step is not None and step.ended is not None:
                root = step if isinstance(step, RecordedTrace) else step._root
                current.set(root if root is not None and root.ended is None else None)
        # A failure that the app stated itself is more exact than the exception that follows from it.
        if error is not None and self.failed is None:
            try:
                self.failed = f"{type(error).__name__}: {error}"
            except Exception:
                self.failed = type(error).__name__
        self.end()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *raised: Any) -> None:
        self.__exit__(*raised)

    def end(self) -> None:
        """Close the step; what ended stays ended. Whatever was put into it, this does not raise."""
        if self.ended is None:
            self.ended = time.time()
            try:
                self._finish()
            except Exception as problem:
                self._refuse(f"{type(problem).__name__}: {problem}")

    def _refuse(self, why: str) -> None:
        """Count and tell what could not be recorded."""
        root = self if isinstance(self, RecordedTrace) else self._root
        if root is not None and root._sink is not None:
            root._sink.refuse(f"{self.noun} {self.id} was left out: {why}")

    def _record(self) -> dict[str, Any]:
        # The app may have put anything there; losing the trace for it would be worse.
        metadata = self.metadata if isinstance(self.metadata, dict) else {"metadata": self.metadata}
        if self.failed is not None:
            metadata = {**metadata, "error": self.failed}
        return {
            "id": self.id,
            "name": self.name,
            "input": as_text(self.input),
            "output": as_text(self.output),
            "status": "completed" if self.failed is None else "failed",
            "started_at": self.started,
            "ended_at": self.ended,
            "metadata": metadata,
        }


class RecordedTrace(Step):
    """One interaction: what came in, what went out, its steps and its scores."""

    noun = "trace"

    __slots__ = ("_process", "_scores", "_sink", "_spans", "session_id", "tags", "user_id")

    def __init__(
        self, sink: Sink | None, *, id: str | None = None, input: Any = None, name: str = "", **more: Any
    ) -> None:
        super().__init__(None, id or new_trace_id(), name, input, more.get("metadata"))
        self._sink = sink
        self._process = os.getpid()
        self._spans: list[dict[str, Any]] = []
        self._scores: list[dict[str, Any]] = []
        self.session_id: str | None = more.get("session_id")
        self.user_id: str | None = more.get("user_id")
        self.tags: tuple[str, ...] = _as_tags(more.get("tags"))

    @property
    def recorded(self) -> bool:
        """Whether this trace is in the sample; one that is not does nothing, at no cost."""
        return self._sink is not None

    def score(
        self, name: str, value: float, *, source: str = "system", comment: str | None = None, key: str | None = None
    ) -> None:
        """Say how good the reply is, from 0 to 1. `key` makes the score replaceable by a later one with the same key."""
        if self._sink is None:
            return
        value = score_value(value)
        if wrong := find_fault(self.id, name, value, source):
            self._sink.refuse(wrong)
            return
        score = {"name": name, "value": value, "source": source, "comment": comment, "key": key or new_span_id()}
        if self.ended is None:
            self._scores.append(score)
        else:
            self._sink.hand("score", {**score, "trace_id": self.id}, 200)

    def _finish(self) -> None:
        """Hand the trace over. A copy that came along into a forked child is the parent's to finish."""
        # Both processes leave the `with` block after a fork.
        if self._sink is None or self._process != os.getpid():
            return
        record = self._record()
        record["input"] = record["input"] or ""
        record |= {
            "session_id": self.session_id,
            "user_id": self.user_id,
            "tags": _as_tags(self.tags),
            "spans": self._spans,
            "scores": self._scores,
        }
        size = 500 + len(record["input"]) + len(record["output"] or "") + 500 * len(self._spans)
        self._sink.hand("trace", record, size)


class RecordedSpan(Step):
    """One step of a trace. It belongs to the trace it was opened in, however deep."""

    noun = "span"

    __slots__ = ("_parent_id", "kind")

    def __init__(self, parent: Step, name: str, kind: str, input: Any, metadata: dict[str, Any] | None) -> None:
        root = parent if isinstance(parent, RecordedTrace) else parent._root
        super().__init__(root, new_span_id(), name, input, metadata)
        self.kind = kind
        self._parent_id = None if isinstance(parent, RecordedTrace) else parent.id

    def _finish(self) -> None:
        root = self._root
        if root is None or not root.recorded:
            return
        if root.ended is not None:
            self._refuse(f"it ended after its trace {root.id}")
            return
        # `list.append` is atomic under the interpreter lock, so spans of several threads need no lock of their own.
        root._spans.append({**self._record(), "kind": self.kind, "parent_id": self._parent_id})


def _as_tags(given: Any) -> tuple[Any, ...]:
    if given is None or isinstance(given, str):
        return (given,) if given else ()
    try:
        return tuple(given)
    except TypeError:
        return (given,)
