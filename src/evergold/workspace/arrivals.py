"""Wire spans → rows: understood, cut to size, redacted. Everything that can be done before the writer's turn."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from evergold.model.trace import ScoreLine, ScoreSource, SpanLine
from evergold.redact.fields import FieldRedactor
from evergold.sources.outline import SpanFacts
from evergold.sources.scores import RESULT_EVENT, WireScore, result_score, scores_in
from evergold.sources.spans import Received, WireSpan, shortened
from evergold.sources.understand import Understood, understand
from evergold.store.spans import SpanRow
from evergold.store.traces import RAW
from evergold.store.values import dumps, stamp, storable

EPOCH = datetime(1970, 1, 1)


@dataclass
class Arrivals:
    """A batch of spans ready to be written, with the scores they carry and what had to be refused."""

    rows: list[SpanRow] = field(default_factory=list)
    facts: dict[tuple[str, str], SpanFacts] = field(default_factory=dict)
    scores: list[ScoreLine] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    cut: int = 0
    ignored: int = 0
    redacted: Counter[str] = field(default_factory=Counter)

    def add(self, row: SpanRow, said: dict[str, Any]) -> None:
        self.rows.append(row)
        self.facts.setdefault((row.trace_id, row.id), facts_of_row(row, said))


def facts_of_row(row: SpanRow, said: dict[str, Any]) -> SpanFacts:
    return SpanFacts(
        row.id,
        row.parent_id,
        row.name,
        row.kind,
        row.status == "failed",
        row.started_at or "",
        row.ended_at or "",
        bool(row.input_text),
        bool(row.output_text),
        said,
    )


def arrivals_of(received: Received, cleaner: FieldRedactor, longest: int, size: int) -> Arrivals:
    """Prepare what a request held. `size` of the whole body: below `longest` no text in it can need cutting."""
    arrivals = Arrivals(refused=received.refused)
    cuts: list[None] = []
    for span in received.spans:
        if size > longest:
            span.attributes = shortened(span.attributes, longest, lambda: cuts.append(None))
            for event in span.events:
                event.attributes = shortened(event.attributes, longest, lambda: cuts.append(None))
        _add_span(arrivals, span, cleaner)
    for log in received.logs:
        if log.trace_id:
            found = result_score(log.event, log.trace_id, log.span_id, "log", arrivals.refused)
            arrivals.scores += [score_of(score, cleaner) for score in found]
    arrivals.ignored = received.ignored
    arrivals.cut = len(cuts)
    arrivals.redacted = cleaner.found
    return arrivals


def _add_span(arrivals: Arrivals, span: WireSpan, cleaner: FieldRedactor) -> None:
    said = understand(span)
    kept = cleaner.clean(
        {
            "input": said.input,
            "output": said.output,
            "metadata": _facts(span, said),
            "attributes": _raw(span, said),
        }
    )
    facts = kept["metadata"]
    row = SpanRow(
        span.trace_id,
        span.span_id,
        span.parent_id,
        storable(said.tool or span.name) or "",
        said.kind,
        storable(kept["input"]),
        storable(kept["output"]),
        "failed" if span.failed else "completed",
        stamp_of(span.start_ns),
        stamp_of(span.end_ns),
        dumps(facts),
        dumps(kept["attributes"]),
    )
    arrivals.add(row, facts)
    if span.events or span.attributes:
        for score in scores_in(span, arrivals.refused):
            arrivals.scores.append(score_of(score, cleaner))


def _facts(span: WireSpan, said: Understood) -> dict[str, Any]:
    facts = {
        "model": said.model,
        "provider": said.provider,
        "input_tokens": said.input_tokens,
        "output_tokens": said.output_tokens,
        "cost": said.cost,
        "session_id": said.session_id,
        "user_id": said.user_id,
        "tool": said.tool,
        "trace_name": said.trace_name,
        "trace_input": said.trace_input,
        "trace_output": said.trace_output,
        "tags": said.tags,
        "metadata": said.metadata,
        "documents": said.documents,
        "service": span.resource.get("service.name"),
        "error": span.status_message if span.failed else None,
    }
    return {name: value for name, value in facts.items() if value not in (None, [], {})}


def _raw(span: WireSpan, said: Understood) -> dict[str, Any]:
    """What the span carried; a text that became the input or output to the letter is not kept twice."""
    attributes = {
        key: value for key, value in span.attributes.items() if value is not said.input and value is not said.output
    }
    raw: dict[str, Any] = {"attributes": attributes, "resource": span.resource}
    events = [
        {"name": event.name, "time": stamp_of(event.time_ns), "attributes": event.attributes}
        for event in span.events
        if event.name != RESULT_EVENT
    ]
    if events:
        raw["events"] = events
    if span.scope:
        raw["scope"] = span.scope
    return raw


def stamp_of(nanoseconds: int) -> str | None:
    """The time as the store writes it, always with six digits so that texts sort; None for a time that was not given."""
    if not nanoseconds:
        return None
    return (EPOCH + timedelta(microseconds=nanoseconds // 1000)).isoformat(timespec="microseconds") + "Z"


def score_of(score: WireScore, cleaner: FieldRedactor) -> ScoreLine:
    return ScoreLine(
        trace_id=score.trace_id,
        name=score.name,
        value=score.value,
        source=ScoreSource(score.source),
        comment=cleaner.clean({"comments": score.comment})["comments"],
        span_id=score.span_id,
        key=score.id,
        created_at=None if not score.time_ns else datetime.fromisoformat(stamp_of(score.time_ns) or ""),
    )


def row_of_line(line: SpanLine) -> tuple[SpanRow, dict[str, Any]]:
    """A span that came as a noun, as a row and its facts."""
    facts = {key: value for key, value in line.metadata.items() if key not in RAW}
    raw = {key: value for key, value in line.metadata.items() if key in RAW}
    row = SpanRow(
        line.trace_id,
        line.id,
        line.parent_id,
        storable(line.name) or "",
        line.kind,
        storable(line.input),
        storable(line.output),
        line.status.value,
        _six_digits(stamp(line.started_at)),
        _six_digits(stamp(line.ended_at)),
        dumps(facts),
        dumps(raw),
    )
    return row, facts


def _six_digits(moment: str | None) -> str | None:
    return moment if moment is None or len(moment) > len("2026-01-02T03:04:05.678Z") else moment[:-1] + "000Z"
