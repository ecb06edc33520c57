"""Summarise a trace from its spans: first what it is (`summarise`), then its row (`summarise_spans`).

A summary is recomputed from all spans each time some arrive, never added up: spans come late, out of order and over several
requests, and a running sum would count a repeated one twice and could not go back when the root arrives last. It needs
the facts of a span, not its texts: it names the spans whose input and output are the trace's.

The rows are made before the writer's turn: of a trace that comes whole in one request the writer only stores the row. Of a
trace that comes in pieces, the row of the first piece is stored and replaced as the others come.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evergold.store.compact.sharing import share_texts
from evergold.store.rows import SpanRow, TraceRow, figures_of
from evergold.store.values import dumps, now, storable, text_or_none

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
    """What a summary needs of one span: `stated` are the facts stored with it (model, tokens, session, …).

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
    """Keep the facts whose values a summary can use: a sender of whole spans may put anything under these names."""
    return {
        key: value for key, value in facts.items() if isinstance(value, SHAPES.get(key, object)) and value is not None
    }


def summarise(spans: Sequence[SpanFacts]) -> TraceSummary:
    """Summarise a trace from all its spans, in whatever order they come."""
    return summarise_one(spans[0]) if len(spans) == 1 else summarise_many(spans)


def summarise_one(span: SpanFacts) -> TraceSummary:
    """Summarise a trace of one span, as many are: nothing is to be sorted, summed up or chosen from."""
    stated = span.stated
    is_root, is_call = span.parent_id is None, span.kind == "llm"
    speaks = is_root or is_call or span.kind == "event"
    metadata: dict[str, Any] = dict(stated["metadata"]) if "metadata" in stated else {}
    for key in AMOUNTS:
        if key in stated:
            # `True` becomes 1, as a sum would make it: both ways to summarise must give the same row.
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
    """Summarise a trace of any number of spans."""
    ordered = sorted(spans, key=lambda span: (span.started, span.id))
    root = next((span for span in ordered if span.parent_id is None), None)
    calls = [span for span in ordered if span.kind == "llm"]
    events = [span for span in ordered if span.kind == "event"]
    # The root speaks for the trace; where it is silent, the earliest span that says something does.
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
    """Sum up what model calls used, and list what was named; `stated` are the facts that any span states."""
    metadata: dict[str, Any] = {}
    if "metadata" in stated:
        for span in ordered:
            metadata.update(span.stated.get("metadata", ()))
    # Agents and chains repeat the tokens of the calls below them, so only model calls are summed up.
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


SpanWithFacts = tuple[SpanRow, dict[str, Any]]  # a span, and what it says


def summarise_spans(spans: Sequence[SpanWithFacts]) -> tuple[list[SpanRow], dict[str, TraceRow]]:
    """Give the rows of these spans, and the rows of their traces by id. Of a span that comes twice the first counts."""
    rows = [row for row, _ in spans]
    traces: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        traces.setdefault(row.trace_id, []).append(number)
    moment = now()
    summaries: dict[str, TraceRow] = {}
    for trace_id, numbers in traces.items():
        if len(numbers) == 1:
            rows[numbers[0]], summaries[trace_id] = _summarise_single(*spans[numbers[0]], moment)
            continue
        # Reversed, so that of two spans with one id the first one sent stays.
        first_seen = {rows[number].id: number for number in reversed(numbers)}
        summary = summarise([_facts_of(*spans[number]) for number in first_seen.values()])
        asking, answering = (first_seen.get(span_id or "") for span_id in (summary.input_from, summary.output_from))
        question = None if asking is None else rows[asking].input_text
        answer = None if answering is None else rows[answering].output_text
        summaries[trace_id] = trace = trace_row(trace_id, summary, (question, answer), moment)
        # With a repeated span the rows may yet turn out to be conflicts: their texts stay with them.
        if len(first_seen) == len(numbers):
            for number in numbers:
                row = rows[number]
                # Of most spans neither is: the call alone would cost more than the comparisons.
                if row.input_text == trace.input_text or row.output_text == trace.output_text:
                    rows[number] = share_texts(row, trace, input=True, output=True)
    return rows, summaries


def _summarise_single(row: SpanRow, stated: dict[str, Any], moment: str) -> tuple[SpanRow, TraceRow]:
    """Summarise the only span of a trace, the most common case."""
    summary = summarise_one(_facts_of(row, stated))
    asks, answers = summary.input_from is not None, summary.output_from is not None
    trace = trace_row(
        row.trace_id, summary, (row.input_text if asks else None, row.output_text if answers else None), moment
    )
    return share_texts(row, trace, input=asks, output=answers), trace


def _facts_of(row: SpanRow, stated: dict[str, Any]) -> SpanFacts:
    return facts(row, stated, has_input=bool(row.input_text), has_output=bool(row.output_text))


def facts(row: Any, stated: dict[str, Any], *, has_input: bool, has_output: bool) -> SpanFacts:
    """Collect what a summary needs of a span, from a row that has just come or one that is stored."""
    return SpanFacts(
        row.id,
        row.parent_id,
        row.name,
        row.kind,
        row.status == "failed",
        row.started_at or "",
        row.ended_at or "",
        has_input,
        has_output,
        stated,
    )


def trace_row(trace_id: str, summary: TraceSummary, texts: tuple[str | None, str | None], moment: str) -> TraceRow:
    """Make the row of a summary. `texts`: input and output of the spans that the summary names."""
    question, answer = texts
    return TraceRow(
        trace_id,
        storable(summary.session_id),
        storable(summary.user_id),
        storable(summary.name) or "",
        storable(summary.input or question) or "",
        storable(summary.output or answer),
        summary.status,
        text_or_none(summary.metadata.get("message_type")),
        text_or_none(summary.metadata.get("model")),
        # Every trace has a start, because lists are sorted by it; one without is as old as its arrival.
        summary.started or moment,
        summary.ended or None,
        dumps(summary.tags) if summary.tags else "[]",
        dumps(summary.metadata),
        moment,
        *figures_of(summary.started, summary.ended, summary.metadata),
    )
