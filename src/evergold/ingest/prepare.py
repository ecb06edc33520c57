"""Turn the bytes of a request into rows: decoded, understood, cut to size, redacted.

Everything that needs no database is done here, before the writer's turn.

Private things out of the parts of a span.

Ids of sessions and users are kept as they came: they hold the turns of a conversation together, and erasing a user needs
them. A placeholder there would make one session of all the people who are known by their telephone number.
"""

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from evergold import plugins
from evergold.ingest.summarise import SpanWithFacts, summarise_spans, usable_facts
from evergold.redact.fields import BoundedRedactor, FieldRedactor, Keys
from evergold.settings import Settings
from evergold.sources.conventions.read_span import content_of, stamp_of
from evergold.sources.conventions.scores import WireScore, result_score, scores_in
from evergold.sources.spans import Received, Wire, WireSpan, shorten_texts
from evergold.store.compact.differences import pack
from evergold.store.compact.sharing import unshared
from evergold.store.rows import RAW, SpanRow, TraceRow
from evergold.store.values import dumps, stamp, storable

if TYPE_CHECKING:
    from evergold.model.trace import SpanLine
    from evergold.seams import Redactor

IDS = ("session_id", "user_id")
SIDES = {"input": "trace_input", "output": "trace_output"}  # where a span speaks for the whole trace

Texts = tuple[str, str | None, str | None]


def redact_parts(
    texts: Texts, facts: dict[str, Any], raw: dict[str, Any], cleaner: FieldRedactor
) -> tuple[Texts, dict[str, Any], dict[str, Any]]:
    """The texts (name, input, output), what was understood and what was carried of a span, without private things."""
    name, *sides = texts
    apart = {key: facts[key] for key in (*IDS, *SIDES.values()) if key in facts}
    rest = {key: value for key, value in facts.items() if key not in apart}
    # The span's own text and the one it states for the trace are redacted under the same switch.
    parts: dict[str, Any] = {
        side: [text, apart.get(whole)] for (side, whole), text in zip(SIDES.items(), sides, strict=True)
    }
    redacted = cleaner.clean(parts | {"metadata": {"name": name, "facts": rest}, "attributes": raw})
    for side, whole in SIDES.items():
        if whole in apart:
            apart[whole] = redacted[side][1]
    metadata = redacted["metadata"]
    return (
        (metadata["name"], redacted["input"][0], redacted["output"][0]),
        metadata["facts"] | apart,
        redacted["attributes"],
    )


UNUSABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)  # one span's own fault
COUNTS = ("input_tokens", "output_tokens", "total_tokens", "cost")
MOST_COUNTED = 2**40  # what a million spans say can then be added up in 64 bits


class Request(NamedTuple):
    """An OTLP request without its content encoding; `what` is traces or logs."""

    what: str
    wire: Wire
    body: bytes


@dataclass
class PreparedSpans:
    """A batch of spans ready to be written: their rows, the summaries of their traces from these spans alone, the scores
    they carry, and what had to be refused."""

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
                self.rows[number] = unshared(row, summary.input_text, summary.output_text)


class RequestReader:
    """Reads requests by the settings. A redactor or a field that does not exist is reported when it is made."""

    def __init__(self, settings: Settings) -> None:
        self._fields = settings.redact_fields
        self._longest = settings.server_max_text_kb * 1000
        self._redactor = _redactor_of(settings)
        self._keys = Keys(self._redactor)
        self.cleaner()

    @property
    def is_quick(self) -> bool:
        """Whether reading takes a time that is known: with a redactor of another package it is not."""
        return not isinstance(self._redactor, BoundedRedactor)

    def cleaner(self) -> FieldRedactor:
        """Make a redactor that counts from zero what it replaces."""
        return FieldRedactor(self._redactor, self._fields, self._keys)

    def read(self, request: Request) -> PreparedSpans:
        """Read a request into rows; BadInput where it cannot be read at all."""
        if request.what == "traces":
            received = _encoding(request.wire).read_traces(request.body)
        else:
            # Imported here: most servers receive no logs.
            from evergold.sources.log_events import spans_of_logs

            received = spans_of_logs(_encoding(request.wire).read_logs(request.body))
        return prepare_request(received, self.cleaner(), self._longest, len(request.body))


def _redactor_of(settings: Settings) -> "Redactor | None":
    """Load the redactor, if any; one that does not know IP addresses refuses the setting about them."""
    if not settings.redact_redactor:
        return None
    options = {"ip_addresses": True} if settings.redact_ip_addresses else {}
    redactor: Redactor = plugins.load("redactors", settings.redact_redactor, **options)
    return BoundedRedactor(redactor, settings.redact_redactor) if plugins.is_foreign(redactor) else redactor


def _encoding(wire: Wire) -> ModuleType:
    """Import the reader of an encoding when the first request in it arrives."""
    if wire is Wire.PROTOBUF:
        from evergold.sources.otlp import protobuf

        return protobuf
    from evergold.sources.otlp import json

    return json


def prepare_lines(lines: Iterable["SpanLine"]) -> PreparedSpans:
    """Prepare spans that came as nouns; they are redacted already."""
    return PreparedSpans(*summarise_spans([prepare_line(line) for line in lines]))


def prepare_request(received: Received, cleaner: FieldRedactor, longest: int, size: int) -> PreparedSpans:
    """Prepare what a request held. `size` of the whole body: below `longest` no text in it can need cutting."""
    prepared = PreparedSpans(refused=received.refused)
    cuts: list[None] = []
    for span in received.spans:
        # A body that is smaller than the limit cannot hold a text that is larger.
        if size > longest:
            span.attributes = shorten_texts(span.attributes, longest, lambda: cuts.append(None))
            for event in span.events:
                event.attributes = shorten_texts(event.attributes, longest, lambda: cuts.append(None))
    private = _with_private_text(received.spans, cleaner)
    prepared_rows: list[SpanWithFacts] = []
    # One look at all spans together found which of them hold anything private; most requests hold nothing.
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
    prepared.redacted = cleaner.counts
    return prepared


def _prepare_span(prepared: PreparedSpans, span: WireSpan, cleaner: FieldRedactor, private: bool) -> SpanWithFacts:
    kind, name, question, answer, facts, raw, annotated = content_of(span)
    _require_countable(facts)
    if private:
        (name, question, answer), facts, raw = redact_parts((name, question, answer), facts, raw, cleaner)
    question, answer = storable(question), storable(answer)
    if annotated:
        for score in scores_in(span, prepared.refused):
            prepared.scores.append(_score(score, cleaner))
    stored, heads = pack(raw, question, answer)
    row = SpanRow(
        span.trace_id,
        span.span_id,
        span.parent_id,
        storable(name) or "",
        kind,
        question,
        answer,
        "failed" if span.failed else "completed",
        stamp_of(span.start_ns),
        stamp_of(span.end_ns),
        dumps(facts),
        stored,
        0,
        None,
        None,
        heads,
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
    # By identity: the reader gives all spans of one sender the same object.
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
    # Attributes, events and resource are stored apart from the facts, packed.
    facts = {key: value for key, value in line.metadata.items() if key not in RAW}
    carried = {key: value for key, value in line.metadata.items() if key in RAW}
    raw = {key: dict(value) if isinstance(value, dict) else value for key, value in carried.items()}
    question, answer = storable(line.input), storable(line.output)
    stored, heads = pack(raw, question, answer)
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
        stored,
        0,
        None,
        None,
        heads,
    )
    return row, usable_facts(facts)


def _six_digits(moment: str | None) -> str | None:
    return moment if moment is None or len(moment) > len("2026-01-02T03:04:05.678Z") else moment[:-1] + "000Z"
