"""Phoenix exports: spans as its REST interface or its data frames write them (JSON, JSON lines, Parquet), and their annotations.

A data frame's columns (`context.trace_id`, `attributes.llm.model_name`) and the nested form of the interface are the
same span; both are brought back to flat OpenInference attributes and read as those.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar

from evergold.errors import BadInput
from evergold.model.faults import Rejected
from evergold.model.limits import LARGEST
from evergold.seams import Incoming
from evergold.sources.conventions.read_span import line_of, score_line
from evergold.sources.conventions.scores import annotation_score, scores_in
from evergold.sources.jsonl import read_documents
from evergold.sources.spans import Attributes, WireEvent, WireSpan

PREFIX, RESULT = "attributes.", "result."
WHOLE = ("metadata", "llm.invocation_parameters", "llm.tools", "document.metadata")
MS_LIMIT = 10**14  # a number of milliseconds is smaller than this, one of nanoseconds larger


class PhoenixExport:
    """Spans and annotations."""

    remembers: ClassVar[bool] = True  # which trace a span belongs to, from one file to the next

    def accepts(self, head: bytes) -> bool:
        nested = b'"context"' in head and b'"span_kind"' in head
        return nested or b'"context.trace_id"' in head or b'"annotator_kind"' in head

    def __init__(self) -> None:
        self._trace_of: dict[str, str] = {}

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        """Annotations name their span; which trace that is, files read before have told."""
        for item in read_documents(lines, name):
            if isinstance(item, Rejected):
                yield item
                continue
            where, record = item
            spans = record.get("spans") if isinstance(record, dict) else None
            # A page's download of a whole trace is read span by span: a bad one costs no other.
            if isinstance(spans, list):
                parts = [(f"{where}.spans[{number}]", span) for number, span in enumerate(spans)]
            else:
                parts = [(where, record)]
            for where, record in parts:
                try:
                    yield from _record(record, self._trace_of, where)
                except (BadInput, ValueError, TypeError, KeyError, AttributeError) as problem:
                    reason = f"missing key {problem}" if isinstance(problem, KeyError) else str(problem)
                    yield Rejected(where=where, reason=reason)


def _record(record: dict[str, Any], trace_of: dict[str, str], where: str) -> Iterator[Incoming | Rejected]:
    refused: list[str] = []
    if "annotator_kind" in record and ("span_id" in record or "trace_id" in record):
        span_id = record.get("span_id")  # none: it judges the whole trace
        trace_id = record.get("trace_id") or trace_of.get(str(span_id))
        if trace_id is None:
            raise BadInput(f"annotation of span {span_id}: its span came before in no file of this call")
        yield from _annotations([record], trace_id, span_id, refused)
    else:
        span = _span(record)
        # Kept for the files that follow in the same call: annotations are exported apart from their spans.
        trace_of[span.span_id] = span.trace_id
        yield line_of(span)
        yield from (score_line(score, score.comment) for score in scores_in(span, refused))
        yield from _annotations(record.get("annotations") or [], span.trace_id, span.span_id, refused)
    yield from (Rejected(where=where, reason=reason) for reason in refused)


def _annotations(
    records: list[dict[str, Any]], trace_id: str, span_id: str | None, refused: list[str]
) -> Iterator[Incoming]:
    for record in records:
        columns = {key.removeprefix(RESULT): value for key, value in record.items() if key.startswith(RESULT)}
        fields = {"name": record.get("annotation_name"), **record, **(record.get("result") or {}), **columns}
        for score in annotation_score(fields, trace_id, span_id, str(record.get("id", fields.get("name"))), refused):
            yield score_line(score, score.comment)


def _span(record: dict[str, Any]) -> WireSpan:
    context = record.get("context") or {}
    nested = record.get("attributes") or {}
    columns = {key.removeprefix(PREFIX): value for key, value in record.items() if key.startswith(PREFIX)}
    attributes = dict(_flatten({**nested, **columns}))
    kind = record.get("span_kind")
    if kind:
        attributes.setdefault("openinference.span.kind", kind)
    return WireSpan(
        str(record.get("context.trace_id") or context["trace_id"]),
        str(record.get("context.span_id") or context["span_id"]),
        record.get("parent_id") or None,
        str(record.get("name") or ""),
        _nanoseconds(record.get("start_time")),
        _nanoseconds(record.get("end_time")),
        str(record.get("status_code")).upper() == "ERROR",
        record.get("status_message") or None,
        attributes,
        [
            WireEvent(str(event.get("name") or ""), _nanoseconds(event.get("timestamp")), event.get("attributes") or {})
            for event in record.get("events") or []
        ],
    )


def _flatten(value: Attributes, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        name = f"{prefix}{key}"
        if item is None:
            continue
        # These attributes are JSON texts in OpenInference; flattened, they could not be put together again.
        if isinstance(item, dict) and not name.endswith(WHOLE):
            yield from _flatten(item, f"{name}.")
        elif isinstance(item, list) and item and all(isinstance(part, dict) for part in item):
            for index, part in enumerate(item):
                yield from _flatten(part, f"{name}.{index}.")
        else:
            yield name, item


def _nanoseconds(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, (int, float)):
        number = int(value * 10**6) if value < MS_LIMIT else int(value)
        if not 0 <= number < 2 * LARGEST:
            raise ValueError(f"{str(value)[:30]} is no time in milliseconds or nanoseconds since 1970")
        return number
    moment = datetime.fromisoformat(str(value))
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    # Microseconds first: a float holds a time in nanoseconds only to some hundred of them.
    return int(moment.timestamp() * 10**6) * 1000
