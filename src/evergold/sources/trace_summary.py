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
    stated: dict[str, Any]


@dataclass(slots=True)
class TraceSummary:
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


def usable_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts whose values an outline can use: a sender of whole spans may put anything under these names."""
    return {
        key: value for key, value in facts.items() if isinstance(value, SHAPES.get(key, object)) and value is not None
    }


def summarise(spans: Sequence[SpanFacts]) -> TraceSummary:
    """The outline of a trace from all its spans, in whatever order they come."""
    return summarise_one(spans[0]) if len(spans) == 1 else summarise_many(spans)


def summarise_one(span: SpanFacts) -> TraceSummary:
    """The same for a trace of one span, which is how many are: nothing is to be sorted, summed up or chosen from."""
    stated = span.stated
    is_root, is_call = span.parent_id is None, span.kind == "llm"
    speaks = is_root or is_call or span.kind == "event"
    metadata: dict[str, Any] = dict(stated["metadata"]) if "metadata" in stated else {}
    for key in AMOUNTS:
        if key in stated:
            metadata[key] = 0 + stated[key]
    for key, name in NAMED:
        if key in stated:
            metadata[name] = [stated[key]]
    if "models" in metadata:
        metadata.setdefault("model", metadata["models"][-1])
    if span.failed:
        metadata["failed_spans"] = [span.name]
        _add_error(metadata, (span,))
    return TraceSummary(
        stated.get("trace_name") or span.name,
        ("failed" if span.failed else "completed") if is_root or is_call else "started",
        span.started,
        span.ended,
        stated.get("session_id"),
        stated.get("user_id"),
        span.id if speaks and span.has_input else None,
        span.id if speaks and span.has_output else None,
        stated.get("trace_input"),
        stated.get("trace_output"),
        _each((span,), "tags") if "tags" in stated else [],
        metadata,
    )


def summarise_many(spans: Sequence[SpanFacts]) -> TraceSummary:
    """The same for any number of spans."""
    ordered = sorted(spans, key=lambda span: (span.started, span.id))
    root = next((span for span in ordered if span.parent_id is None), None)
    calls = [span for span in ordered if span.kind == "llm"]
    events = [span for span in ordered if span.kind == "event"]
    speaking = [root, *(span for span in ordered if span is not root)] if root else ordered
    stated: dict[str, Any] = {}
    for span in reversed(speaking):
        stated.update(span.stated)  # what the first says stands
    return TraceSummary(
        name=stated.get("trace_name") or (root or ordered[0]).name,
        status=_status(root, calls),
        started=min((span.started for span in ordered if span.started), default=""),
        ended=max(span.ended for span in ordered),
        session_id=stated.get("session_id"),
        user_id=stated.get("user_id"),
        input_from=_input_span(root, calls, events),
        output_from=_output_span(root, calls, events),
        input=stated.get("trace_input"),
        output=_last_stated(speaking, "trace_output") if "trace_output" in stated else None,
        tags=_each(ordered, "tags") if "tags" in stated else [],
        metadata=_metadata(ordered, root, stated),
    )


def _input_span(root: SpanFacts | None, calls: Sequence[SpanFacts], events: Sequence[SpanFacts]) -> str | None:
    """The root's, else the first model call's, else the last message that was logged beside the spans."""
    speakers = [*([root] if root else []), *calls, *reversed(events)]
    return next((span.id for span in speakers if span.has_input), None)


def _output_span(root: SpanFacts | None, calls: Sequence[SpanFacts], events: Sequence[SpanFacts]) -> str | None:
    speakers = [*([root] if root else []), *reversed(calls), *reversed(events)]
    return next((span.id for span in speakers if span.has_output), None)


def _status(root: SpanFacts | None, calls: Sequence[SpanFacts]) -> str:
    """The root decides. Until it comes (it may be in another service and never come) the last model call does."""
    decisive = root or (calls[-1] if calls else None)
    if decisive is None:
        return "started"
    return "failed" if decisive.failed else "completed"


def _last_stated(spans: Sequence[SpanFacts], key: str) -> Any:
    return next(span.stated[key] for span in reversed(spans) if key in span.stated)


def _each(ordered: Sequence[SpanFacts], key: str) -> list[Any]:
    return list(dict.fromkeys(str(item) for span in ordered for item in span.stated.get(key, ())))


def _metadata(ordered: Sequence[SpanFacts], root: SpanFacts | None, stated: dict[str, Any]) -> dict[str, Any]:
    """Sums of what model calls used, and what was named; `said` are the facts that any span states."""
    metadata: dict[str, Any] = {}
    if "metadata" in stated:
        for span in ordered:
            metadata.update(span.stated.get("metadata", ()))
    counted = [span for span in ordered if span.kind in MODEL_KINDS] or [root or ordered[0]]
    for key in AMOUNTS:
        if key in stated:
            amounts = [span.stated[key] for span in counted if key in span.stated]
            if amounts:
                metadata[key] = sum(amounts)
    for key, name in NAMED:
        if key in stated:
            metadata[name] = list(dict.fromkeys(span.stated[key] for span in ordered if key in span.stated))
    if "models" in metadata:
        metadata.setdefault("model", metadata["models"][-1])
    failed = [span for span in ordered if span.failed]
    if failed:
        metadata["failed_spans"] = [span.name for span in failed[:20]]
        _add_error(metadata, [root, *failed] if root is not None and root.failed else failed)
    return metadata


def _add_error(metadata: dict[str, Any], failed: Sequence[SpanFacts]) -> None:
    """Add why the trace failed: the first of these errors, unless the app gave one of its own."""
    error = next((span.stated["error"] for span in failed if span.stated.get("error")), None)
    if error is not None:
        metadata.setdefault("error", error)
