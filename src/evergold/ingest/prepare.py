"""Wire spans → rows: understood, cut to size, redacted. Everything that can be done before the writer's turn."""

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evergold.ingest.redact_span import redact_parts
from evergold.ingest.summarise import SpanWithFacts, summarise_spans
from evergold.redact.fields import FieldRedactor
from evergold.sources.attribute_plan import plan_for
from evergold.sources.read_span import read_span
from evergold.sources.scores import WireScore, result_score, scores_in
from evergold.sources.span_fields import facts_of, raw_of, stamp_of
from evergold.sources.spans import Received, WireSpan, shortened
from evergold.sources.trace_summary import usable_facts
from evergold.store.folding import fold
from evergold.store.repeats import heads_of
from evergold.store.rows import RAW, SpanRow, TraceRow, whole
from evergold.store.values import dumps, stamp, storable

if TYPE_CHECKING:
    from evergold.model.trace import SpanLine


UNUSABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)  # one span's own fault
COUNTS = ("input_tokens", "output_tokens", "total_tokens", "cost")
MOST_COUNTED = 2**40  # what a million spans say can then be added up in 64 bits


@dataclass
class PreparedSpans:
    """A batch of spans ready to be written: their rows, the traces as they alone tell them, the scores they carry,
    and what had to be refused."""

    rows: list[SpanRow] = field(default_factory=list)
    summaries: dict[str, TraceRow] = field(default_factory=dict)
    scores: list[WireScore] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    cut: int = 0
    ignored: int = 0
    redacted: Counter[str] = field(default_factory=Counter)

    def whole(self, trace_ids: Container[str]) -> None:
        """Give the spans of these traces their own texts again."""
        for number, row in enumerate(self.rows):
            if row.shared and row.trace_id in trace_ids:
                summary = self.summaries[row.trace_id]
                self.rows[number] = whole(row, summary.input_text, summary.output_text)


def prepare_lines(lines: Iterable["SpanLine"]) -> PreparedSpans:
    """Prepare spans that came as nouns; they are redacted already."""
    return PreparedSpans(*summarise_spans([prepare_line(line) for line in lines]))


def prepare_request(received: Received, cleaner: FieldRedactor, longest: int, size: int) -> PreparedSpans:
    """Prepare what a request held. `size` of the whole body: below `longest` no text in it can need cutting."""
    prepared = PreparedSpans(refused=received.refused)
    cuts: list[None] = []
    for span in received.spans:
        if size > longest:
            span.attributes = shortened(span.attributes, longest, lambda: cuts.append(None))
            for event in span.events:
                event.attributes = shortened(event.attributes, longest, lambda: cuts.append(None))
    private = _with_private_text(received.spans, cleaner)
    prepared_rows: list[SpanWithFacts] = []
    for number, span in enumerate(received.spans):
        try:
            prepared_rows.append(_prepare_span(prepared, span, cleaner, number in private))
        except UNUSABLE as problem:
            prepared.refused.append(f"span {span.name[:80]!r} ({span.span_id}): {problem}")
    prepared.rows, prepared.summaries = summarise_spans(prepared_rows)
    for log in received.logs:
        if log.trace_id:
            scores = result_score(log.event, log.trace_id, log.span_id, "log", prepared.refused)
            prepared.scores += [_score(score, cleaner) for score in scores]
    prepared.ignored = received.ignored
    prepared.cut = len(cuts)
    prepared.redacted = cleaner.found
    return prepared


def _prepare_span(prepared: PreparedSpans, span: WireSpan, cleaner: FieldRedactor, private: bool) -> SpanWithFacts:
    plan = plan_for(span.attributes)
    parsed = read_span(span, plan)
    name, question, answer = parsed.tool or span.name, parsed.input, parsed.output
    facts, raw = facts_of(span, parsed), raw_of(span)
    _require_countable(facts)
    if private:
        (name, question, answer), facts, raw = redact_parts((name, question, answer), facts, raw, cleaner)
    question, answer = storable(question), storable(answer)
    if span.events or plan.annotated:
        for score in scores_in(span, prepared.refused):
            prepared.scores.append(_score(score, cleaner))
    long = fold(raw, question, answer)
    row = SpanRow(
        span.trace_id,
        span.span_id,
        span.parent_id,
        storable(name) or "",
        parsed.kind,
        question,
        answer,
        "failed" if span.failed else "completed",
        stamp_of(span.start_ns),
        stamp_of(span.end_ns),
        dumps(facts),
        dumps(raw),
        0,
        None,
        None,
        heads_of(long),
    )
    return row, facts


def _require_countable(facts: dict[str, Any]) -> None:
    """Refuse a span whose numbers could not be added up with those of others."""
    for name in COUNTS:
        if name in facts and not -MOST_COUNTED <= facts[name] <= MOST_COUNTED:
            raise ValueError(f"{name} is {str(facts[name])[:30]}; at most {MOST_COUNTED} is taken")


def _with_private_text(spans: list[WireSpan], cleaner: FieldRedactor) -> set[int]:
    """The numbers of the spans that hold anything private; spans of one sender share its resource, looked at once."""
    suspects = cleaner.suspected([_redactable(span) for span in spans])
    resources = list({id(span.resource): span.resource for span in spans}.values())
    private_resources = {id(resources[number]) for number in cleaner.suspected(resources)}
    if not private_resources:
        return suspects
    return suspects | {number for number, span in enumerate(spans) if id(span.resource) in private_resources}


def _redactable(span: WireSpan) -> list[Any]:
    """Where all comes from that is kept of a span beside its resource: with nothing private in it, there is none in that."""
    return [span.attributes, [event.attributes for event in span.events], span.status_message, span.name]


def _score(score: WireScore, cleaner: FieldRedactor) -> WireScore:
    return replace(score, comment=cleaner.clean({"comments": score.comment})["comments"])


def prepare_line(line: "SpanLine") -> SpanWithFacts:
    """A span that came as a noun, as a row and what it says."""
    facts = {key: value for key, value in line.metadata.items() if key not in RAW}
    carried = {key: value for key, value in line.metadata.items() if key in RAW}
    raw = {key: dict(value) if isinstance(value, dict) else value for key, value in carried.items()}
    question, answer = storable(line.input), storable(line.output)
    long = fold(raw, question, answer)
    row = SpanRow(
        line.trace_id,
        line.id,
        line.parent_id,
        storable(line.name) or "",
        line.kind,
        question,
        answer,
        line.status.value,
        _six_digits(stamp(line.started_at)),
        _six_digits(stamp(line.ended_at)),
        dumps(facts),
        dumps(raw),
        0,
        None,
        None,
        heads_of(long),
    )
    return row, usable_facts(facts)


def _six_digits(moment: str | None) -> str | None:
    return moment if moment is None or len(moment) > len("2026-01-02T03:04:05.678Z") else moment[:-1] + "000Z"
