"""Wire spans → rows: understood, cut to size, redacted. Everything that can be done before the writer's turn."""

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evergold.redact.fields import FieldRedactor
from evergold.sources.carried import facts_of, raw_of, stamp_of
from evergold.sources.outline import sayable
from evergold.sources.reading import reading_of
from evergold.sources.scores import WireScore, result_score, scores_in
from evergold.sources.spans import Received, WireSpan, shortened
from evergold.sources.understand import understand
from evergold.store.folding import fold
from evergold.store.rows import RAW, SpanRow, TraceRow, whole
from evergold.store.values import dumps, stamp, storable
from evergold.workspace.span_parts import clean_parts
from evergold.workspace.tales import Told, tell

if TYPE_CHECKING:
    from evergold.model.trace import SpanLine


@dataclass
class Arrivals:
    """A batch of spans ready to be written: their rows, the traces as they alone tell them, the scores they carry,
    and what had to be refused."""

    rows: list[SpanRow] = field(default_factory=list)
    tales: dict[str, TraceRow] = field(default_factory=dict)
    scores: list[WireScore] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    cut: int = 0
    ignored: int = 0
    redacted: Counter[str] = field(default_factory=Counter)

    def whole(self, trace_ids: Container[str]) -> None:
        """Give the spans of these traces their own texts again."""
        for number, row in enumerate(self.rows):
            if row.shared and row.trace_id in trace_ids:
                tale = self.tales[row.trace_id]
                self.rows[number] = whole(row, tale.input_text, tale.output_text)


def arrivals_of_lines(lines: Iterable["SpanLine"]) -> Arrivals:
    """Prepare spans that came as nouns; they are redacted already."""
    return Arrivals(*tell([told_of_line(line) for line in lines]))


def arrivals_of(received: Received, cleaner: FieldRedactor, longest: int, size: int) -> Arrivals:
    """Prepare what a request held. `size` of the whole body: below `longest` no text in it can need cutting."""
    arrivals = Arrivals(refused=received.refused)
    cuts: list[None] = []
    for span in received.spans:
        if size > longest:
            span.attributes = shortened(span.attributes, longest, lambda: cuts.append(None))
            for event in span.events:
                event.attributes = shortened(event.attributes, longest, lambda: cuts.append(None))
    private = _private(received.spans, cleaner)
    told = [_told(arrivals, span, cleaner, number in private) for number, span in enumerate(received.spans)]
    arrivals.rows, arrivals.tales = tell(told)
    for log in received.logs:
        if log.trace_id:
            found = result_score(log.event, log.trace_id, log.span_id, "log", arrivals.refused)
            arrivals.scores += [_score(score, cleaner) for score in found]
    arrivals.ignored = received.ignored
    arrivals.cut = len(cuts)
    arrivals.redacted = cleaner.found
    return arrivals


def _told(arrivals: Arrivals, span: WireSpan, cleaner: FieldRedactor, private: bool) -> Told:
    names = reading_of(span.attributes)
    said = understand(span, names)
    name, question, answer = said.tool or span.name, said.input, said.output
    facts, raw = facts_of(span, said), raw_of(span, said, names)
    if private:
        (name, question, answer), facts, raw = clean_parts((name, question, answer), facts, raw, cleaner)
    question, answer = storable(question), storable(answer)
    if span.events or names.annotated:
        for score in scores_in(span, arrivals.refused):
            arrivals.scores.append(_score(score, cleaner))
    fold(raw, question, answer)
    row = SpanRow(
        span.trace_id,
        span.span_id,
        span.parent_id,
        storable(name) or "",
        said.kind,
        question,
        answer,
        "failed" if span.failed else "completed",
        stamp_of(span.start_ns),
        stamp_of(span.end_ns),
        dumps(facts),
        dumps(raw),
    )
    return row, facts


def _private(spans: list[WireSpan], cleaner: FieldRedactor) -> set[int]:
    """The numbers of the spans that hold anything private; spans of one sender share its resource, looked at once."""
    found = cleaner.suspected([_carried(span) for span in spans])
    resources = list({id(span.resource): span.resource for span in spans}.values())
    telling = {id(resources[number]) for number in cleaner.suspected(resources)}
    return found | {number for number, span in enumerate(spans) if id(span.resource) in telling} if telling else found


def _carried(span: WireSpan) -> list[Any]:
    """Where all comes from that is kept of a span beside its resource: with nothing private in it, there is none in that."""
    return [span.attributes, [event.attributes for event in span.events], span.status_message, span.name]


def _score(score: WireScore, cleaner: FieldRedactor) -> WireScore:
    return replace(score, comment=cleaner.clean({"comments": score.comment})["comments"])


def told_of_line(line: "SpanLine") -> Told:
    """A span that came as a noun, as a row and what it says."""
    facts = {key: value for key, value in line.metadata.items() if key not in RAW}
    carried = {key: value for key, value in line.metadata.items() if key in RAW}
    raw = {key: dict(value) if isinstance(value, dict) else value for key, value in carried.items()}
    question, answer = storable(line.input), storable(line.output)
    fold(raw, question, answer)
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
    )
    return row, sayable(facts)


def _six_digits(moment: str | None) -> str | None:
    return moment if moment is None or len(moment) > len("2026-01-02T03:04:05.678Z") else moment[:-1] + "000Z"
