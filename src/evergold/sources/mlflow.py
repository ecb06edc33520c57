"""MLflow traces as `Trace.to_dict` and its REST interface write them: what the trace is (`info`), and its spans (`data`)."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from evergold.conversation.message import decode_json, decode_list, decode_object
from evergold.model.faults import Rejected
from evergold.model.trace import ScoreLine, ScoreSource
from evergold.seams import Incoming
from evergold.sources.conventions.messages import parse_json
from evergold.sources.conventions.read_span import line_of
from evergold.sources.jsonl import read_documents
from evergold.sources.spans import WireEvent, WireSpan

SCORE_SOURCES = {"HUMAN": ScoreSource.HUMAN, "LLM_JUDGE": ScoreSource.LLM_JUDGE, "AI_JUDGE": ScoreSource.LLM_JUDGE}
LISTED = ("mlflow.trace.session", "mlflow.trace.user")


class MlflowTraces:
    """Traces with their spans and assessments."""

    def accepts(self, head: bytes) -> bool:
        return b'"info"' in head and (b'"mlflow.' in head or b'"trace_info' in head or b'"request_metadata"' in head)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for item in read_documents(lines, name):
            if isinstance(item, Rejected):
                yield item
            elif isinstance(item[1], dict) and isinstance(decode_json(item[1].get("data")), dict):
                yield from _records(item[1], item[0])
            else:
                yield Rejected(where=item[0], reason="not a trace of MLflow: it has no `data` with spans")


def _records(document: dict[str, Any], where: str) -> Iterator[Incoming | Rejected]:
    info, data = decode_object(document.get("info")), decode_object(document["data"])
    # Version 2 calls it request_id; without either, the place in the file names the trace.
    trace_id = str(info.get("trace_id") or info.get("request_id") or where)
    known = {**decode_object(info.get("request_metadata")), **decode_object(info.get("trace_metadata"))}
    for span in decode_list(data.get("spans")):
        if isinstance(span, dict):
            try:
                yield line_of(_wire_span(span, trace_id, known, decode_object(info.get("tags"))))
            except (ValidationError, ValueError, TypeError) as problem:
                yield Rejected(where=where, reason=f"span {span.get('name')!r}: {problem}")
    for assessment in decode_list(info.get("assessments")):
        if isinstance(assessment, dict):
            yield _score(assessment, trace_id, where)


def _wire_span(span: dict[str, Any], trace_id: str, known: dict[str, Any], tags: dict[str, Any]) -> WireSpan:
    context, status = decode_object(span.get("context")), span.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, dict) else span.get("status_code")
    # MLflow writes every attribute as JSON, texts included.
    attributes = {key: _plain(value) for key, value in decode_object(span.get("attributes")).items()}
    parent = span.get("parent_span_id") or span.get("parent_id")
    # Session, user and tags are the trace's, so only the root carries them.
    if parent is None:
        attributes |= {key: known[key] for key in LISTED if known.get(key)}
        own = {key: value for key, value in tags.items() if not key.startswith("mlflow.")}
        attributes |= {"metadata": own} if own else {}
    return WireSpan(
        trace_id,
        str(span.get("span_id") or context.get("span_id")),
        None if parent is None else str(parent),
        str(span.get("name") or ""),
        int(span.get("start_time_unix_nano") or span.get("start_time") or 0),
        int(span.get("end_time_unix_nano") or span.get("end_time") or 0),
        # `ERROR`, `STATUS_CODE_ERROR` and `SpanStatusCode.ERROR`, by version.
        failed="ERROR" in str(code).upper(),
        status_message=status.get("message") or None if isinstance(status, dict) else span.get("status_message"),
        attributes=attributes,
        events=[
            WireEvent(str(event.get("name")), 0, decode_object(event.get("attributes")))
            for event in decode_list(span.get("events"))
            if isinstance(event, dict)
        ],
    )


def _plain(value: Any) -> Any:
    """A value that MLflow wrote as JSON: a text or number as it is; objects stay as they were written."""
    parsed = parse_json(value)
    return value if isinstance(parsed, dict | list) and isinstance(value, str) else parsed


def _score(assessment: dict[str, Any], trace_id: str, where: str) -> ScoreLine | Rejected:
    name = assessment.get("assessment_name") or assessment.get("name")
    value = decode_object(assessment.get("feedback")).get("value", assessment.get("value"))
    source = decode_object(assessment.get("source"))
    kind = str(source.get("source_type")).upper()
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        return Rejected(where=where, field="value", reason=f"assessment {name!r} has {value!r}, no number from 0 to 1")
    try:
        return ScoreLine(
            trace_id=trace_id,
            name=name,
            value=float(value),
            source=SCORE_SOURCES.get(kind, ScoreSource.SYSTEM),
            comment=assessment.get("rationale"),
            key=assessment.get("assessment_id"),
        )
    except ValidationError as problem:
        return Rejected.of(problem, where, ScoreLine)
