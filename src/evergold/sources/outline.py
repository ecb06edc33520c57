"""A trace as its spans tell it: recomputed from all of them each time some arrive, never added up.

Spans come late, out of order and over several requests; a sum kept on the side would count a repeated one twice
and could not go back when the root arrives last. Only the facts of a span are needed here, not its texts: the
outline names the spans whose input and output are the trace's, and whoever holds the texts looks them up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MODEL_KINDS = ("llm", "embedding")
AMOUNTS = ("input_tokens", "output_tokens", "total_tokens", "cost")
NAMED = (("model", "models"), ("tool", "tools"), ("service", "services"))
SHAPES: dict[str, Any] = {
    **dict.fromkeys(AMOUNTS, (int, float)),
    **dict.fromkeys((key for key, _ in NAMED), str),
    **dict.fromkeys(("trace_name", "trace_input", "trace_output", "session_id", "user_id"), str),
    "tags": list,
    "metadata": dict,
}


@dataclass(slots=True)
class SpanFacts:
    """What the outline needs of one span: `said` are the facts stored with it (model, tokens, session, …).

    Times are texts that sort, empty where the sender gave none.
    """

    id: str
    parent_id: str | None
    name: str
    kind: str
    failed: bool
    started: str
    ended: str
    has_input: bool
    has_output: bool
    said: dict[str, Any]


@dataclass(slots=True)
class Outline:
    """The trace's own fields. `input` and `output` are set where a span states them for the whole trace."""

    name: str = ""
    status: str = "started"
    started: str = ""
    ended: str = ""
    session_id: str | None = None
    user_id: str | None = None
    input_from: str | None = None
    output_from: str | None = None
    input: str | None = None
    output: str | None = None
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


def sayable(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts whose values an outline can use: a sender of whole spans may put anything under these names."""
    return {
        key: value for key, value in facts.items() if isinstance(value, SHAPES.get(key, object)) and value is not None
    }


def outline(spans: Sequence[SpanFacts]) -> Outline:
    """The outline of a trace from all its spans, in whatever order they come."""
    return outline_of_one(spans[0]) if len(spans) == 1 else outline_of_many(spans)


def outline_of_one(span: SpanFacts) -> Outline:
    """The same for a trace of one span, which is how many are: nothing is to be sorted, summed up or chosen from."""
    said = span.said
    is_root, is_call = span.parent_id is None, span.kind == "llm"
    speaks = is_root or is_call or span.kind == "event"
    metadata: dict[str, Any] = dict(said["metadata"]) if "metadata" in said else {}
    for key in AMOUNTS:
        if key in said:
            metadata[key] = 0 + said[key]
    for key, name in NAMED:
        if key in said:
            metadata[name] = [said[key]]
    if "models" in metadata:
        metadata.setdefault("model", metadata["models"][-1])
    if span.failed:
        metadata["failed_spans"] = [span.name]
    return Outline(
        said.get("trace_name") or span.name,
        ("failed" if span.failed else "completed") if is_root or is_call else "started",
        span.started,
        span.ended,
        said.get("session_id"),
        said.get("user_id"),
        span.id if speaks and span.has_input else None,
        span.id if speaks and span.has_output else None,
        said.get("trace_input"),
        said.get("trace_output"),
        _each((span,), "tags") if "tags" in said else [],
        metadata,
    )


def outline_of_many(spans: Sequence[SpanFacts]) -> Outline:
    """The same for any number of spans."""
    ordered = sorted(spans, key=lambda span: (span.started, span.id))
    root = next((span for span in ordered if span.parent_id is None), None)
    calls = [span for span in ordered if span.kind == "llm"]
    heard = [span for span in ordered if span.kind == "event"]
    speaking = [root, *(span for span in ordered if span is not root)] if root else ordered
    said: dict[str, Any] = {}
    for span in reversed(speaking):
        said.update(span.said)  # what the first says stands
    return Outline(
        name=said.get("trace_name") or (root or ordered[0]).name,
        status=_status(root, calls),
        started=min((span.started for span in ordered if span.started), default=""),
        ended=max(span.ended for span in ordered),
        session_id=said.get("session_id"),
        user_id=said.get("user_id"),
        input_from=_input_span(root, calls, heard),
        output_from=_output_span(root, calls, heard),
        input=said.get("trace_input"),
        output=_last_said(speaking, "trace_output") if "trace_output" in said else None,
        tags=_each(ordered, "tags") if "tags" in said else [],
        metadata=_metadata(ordered, root, said),
    )


def _input_span(root: SpanFacts | None, calls: Sequence[SpanFacts], heard: Sequence[SpanFacts]) -> str | None:
    """The root's, else the first model call's, else the last message that was logged beside the spans."""
    speakers = [*([root] if root else []), *calls, *reversed(heard)]
    return next((span.id for span in speakers if span.has_input), None)


def _output_span(root: SpanFacts | None, calls: Sequence[SpanFacts], heard: Sequence[SpanFacts]) -> str | None:
    speakers = [*([root] if root else []), *reversed(calls), *reversed(heard)]
    return next((span.id for span in speakers if span.has_output), None)


def _status(root: SpanFacts | None, calls: Sequence[SpanFacts]) -> str:
    """The root decides. Until it comes (it may be in another service and never come) the last model call does."""
    decisive = root or (calls[-1] if calls else None)
    if decisive is None:
        return "started"
    return "failed" if decisive.failed else "completed"


def _last_said(spans: Sequence[SpanFacts], key: str) -> Any:
    return next(span.said[key] for span in reversed(spans) if key in span.said)


def _each(ordered: Sequence[SpanFacts], key: str) -> list[Any]:
    return list(dict.fromkeys(str(item) for span in ordered for item in span.said.get(key, ())))


def _metadata(ordered: Sequence[SpanFacts], root: SpanFacts | None, said: dict[str, Any]) -> dict[str, Any]:
    """Sums of what model calls used, and what was named; `said` are the facts that any span states."""
    metadata: dict[str, Any] = {}
    if "metadata" in said:
        for span in ordered:
            metadata.update(span.said.get("metadata", ()))
    counted = [span for span in ordered if span.kind in MODEL_KINDS] or [root or ordered[0]]
    for key in AMOUNTS:
        if key in said:
            amounts = [span.said[key] for span in counted if key in span.said]
            if amounts:
                metadata[key] = sum(amounts)
    for key, name in NAMED:
        if key in said:
            metadata[name] = list(dict.fromkeys(span.said[key] for span in ordered if key in span.said))
    if "models" in metadata:
        metadata.setdefault("model", metadata["models"][-1])
    failed = [span.name for span in ordered if span.failed]
    if failed:
        metadata["failed_spans"] = failed[:20]
    return metadata
