"""MLflow traces as `Trace.to_dict` and its REST interface write them: what the trace is (`info`), and its spans (`data`)."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from evergold.conversation.message import as_json, decode_json, decode_list, decode_object
from evergold.model.faults import Rejected
from evergold.model.trace import Correction, ScoreLine, ScoreSource
from evergold.seams import Incoming
from evergold.sources.conventions.messages import parse_json
from evergold.sources.conventions.read_span import line_of
from evergold.sources.conventions.scores import read_value
from evergold.sources.jsonl import read_documents
from evergold.sources.spans import WireEvent, WireSpan

SCORE_SOURCES = {"HUMAN": ScoreSource.HUMAN, "LLM_JUDGE": ScoreSource.LLM_JUDGE, "AI_JUDGE": ScoreSource.LLM_JUDGE}
EXPECTED = "expected_response"  # the expectation that is the right answer
INPUTS = "mlflow.spanInputs"
LISTED = ("mlflow.trace.session", "mlflow.trace.user")


class MlflowTraces:
    """Traces with their spans and assessments."""

    def accepts(self, head: bytes) -> bool:
        named = b'"info"' in head or b'"trace_metadata"' in head
        return named and (b'"mlflow.' in head or b'"trace_info' in head or b'"request_metadata"' in head)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for item in read_documents(lines, name):
            if isinstance(item, Rejected):
                yield item
                continue
            where, document = item
            # A row of the data frame of `search_traces` has the trace as JSON text.
            if isinstance(document, dict) and "trace" in document and "data" not in document:
                document = decode_object(document["trace"])
            if isinstance(document, dict) and isinstance(decode_json(document.get("data")), dict):
                yield from _records(document, where)
            else:
                yield Rejected(where=where, reason="not a trace of MLflow: it has no `data` with spans")


def _records(document: dict[str, Any], where: str) -> Iterator[Incoming | Rejected]:
    info, data = decode_object(document.get("info")), decode_object(document["data"])
    # Version 2 calls it request_id; without either, the place in the file names the trace.
    trace_id = str(info.get("trace_id") or info.get("request_id") or where)
    known = {**decode_object(info.get("request_metadata")), **decode_object(info.get("trace_metadata"))}
    assessments = [one for one in decode_list(info.get("assessments")) if isinstance(one, dict)]
    expected = {
        str(one.get("assessment_name")): decode_object(one["expectation"]).get("value")
        for one in assessments
        if one.get("expectation")
    }
    tags = decode_object(info.get("tags")) | ({"expectations": expected} if expected else {})
    for span in decode_list(data.get("spans")):
        if isinstance(span, dict):
            try:
                yield line_of(_wire_span(span, trace_id, known, tags))
            except (ValidationError, ValueError, TypeError) as problem:
                yield Rejected(where=where, reason=f"span {span.get('name')!r}: {problem}")
    for assessment in assessments:
        # A judge that failed gave no verdict.
        if not assessment.get("expectation") and not decode_object(assessment.get("feedback")).get("error"):
            yield _score(assessment, trace_id, where)
    if isinstance(text := expected.get(EXPECTED), str) and text.strip():
        by = [decode_object(one.get("source")) for one in assessments if one.get("assessment_name") == EXPECTED][-1]
        if str(by.get("source_type")).upper() == "HUMAN":
            yield Correction(trace_id=trace_id, text=text, author=by.get("source_id"))


def _wire_span(span: dict[str, Any], trace_id: str, known: dict[str, Any], tags: dict[str, Any]) -> WireSpan:
    context, status = decode_object(span.get("context")), span.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, dict) else span.get("status_code")
    # MLflow writes every attribute as JSON, texts included.
    attributes = {key: _read_value(value) for key, value in decode_object(span.get("attributes")).items()}
    parent = span.get("parent_span_id") or span.get("parent_id")
    # Session, user and tags are the trace's, so only the root carries them.
    if parent is None:
        own_ids = {key: known[key] for key in LISTED if known.get(key)}
        # A traced function has session and user among its arguments; they are no part of the question.
        given = decode_object(attributes.get(INPUTS))
        asked = {key: value for key, value in given.items() if value not in own_ids.values()}
        attributes |= own_ids | ({INPUTS: as_json(asked)} if asked and asked != given else {})
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


def _read_value(value: Any) -> Any:
    """A value that MLflow wrote as JSON: a text or number as it is; objects stay as they were written."""
    parsed = parse_json(value)
    return value if isinstance(parsed, dict | list) and isinstance(value, str) else parsed


def _score(assessment: dict[str, Any], trace_id: str, where: str) -> ScoreLine | Rejected:
    name = assessment.get("assessment_name") or assessment.get("name")
    value = decode_object(assessment.get("feedback")).get("value", assessment.get("value"))
    kind = str(decode_object(assessment.get("source")).get("source_type")).upper()
    read = read_value(str(name), value)
    if read is None:
        return Rejected(where=where, field="value", reason=f"assessment {name!r} has {value!r}, no number from 0 to 1")
    try:
        return ScoreLine(
            trace_id=trace_id,
            name=name,
            value=read,
            source=SCORE_SOURCES.get(kind, ScoreSource.SYSTEM),
            comment=assessment.get("rationale"),
            key=assessment.get("assessment_id"),
        )
    except ValidationError as problem:
        return Rejected.of(problem, where, ScoreLine)
