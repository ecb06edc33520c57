"""A trace as its spans tell it: recomputed from all of them each time some arrive, never added up.

Spans come late, out of order and over several requests; a sum kept on the side would count a repeated one twice
and could not go back when the root arrives last. Only the facts of a span are needed here, not its texts: the
outline names the spans whose input and output are the trace's, and whoever holds the texts looks them up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MODEL_KINDS = ("llm", "embedding")


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


def outline(spans: Iterable[SpanFacts]) -> Outline:
    """The outline of a trace from all its spans, in whatever order they come."""
    ordered = sorted(spans, key=lambda span: (span.started, span.id))
    root = next((span for span in ordered if span.parent_id is None), None)
    calls = [span for span in ordered if span.kind == "llm"]
    heard = [span for span in ordered if span.kind == "event"]
    speaking = [root, *(span for span in ordered if span is not root)] if root else ordered
    first = root or ordered[0]
    return Outline(
        name=_said(speaking, "trace_name") or first.name,
        status=_status(root, calls),
        started=min((span.started for span in ordered if span.started), default=""),
        ended=max(span.ended for span in ordered),
        session_id=_said(speaking, "session_id"),
        user_id=_said(speaking, "user_id"),
        input_from=_input_span(root, calls, heard),
        output_from=_output_span(root, calls, heard),
        input=_said(speaking, "trace_input"),
        output=_said(reversed(speaking), "trace_output"),
        tags=list(dict.fromkeys(tag for span in ordered for tag in span.said.get("tags", ()))),
        metadata=_metadata(ordered, root),
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


def _said(spans: Iterable[SpanFacts], key: str) -> Any:
    return next((span.said[key] for span in spans if span.said.get(key) is not None), None)


def _metadata(ordered: Sequence[SpanFacts], root: SpanFacts | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for span in ordered:
        metadata.update(span.said.get("metadata", ()))
    counted = [span for span in ordered if span.kind in MODEL_KINDS] or [root or ordered[0]]
    for key in ("input_tokens", "output_tokens", "cost"):
        amounts = [span.said[key] for span in counted if span.said.get(key) is not None]
        if amounts:
            metadata[key] = sum(amounts)
    for key, name in (("model", "models"), ("tool", "tools"), ("service", "services")):
        seen = list(dict.fromkeys(span.said[key] for span in ordered if span.said.get(key)))
        if seen:
            metadata[name] = seen
    if "models" in metadata:
        metadata.setdefault("model", metadata["models"][-1])
    failed = [span.name for span in ordered if span.failed]
    if failed:
        metadata["failed_spans"] = failed[:20]
    return metadata
