"""Batches as Langfuse's older libraries send them: events that create and update traces, observations and scores.

Each event of a trace or an observation becomes a span line that records which of its fields the event stated, and when. The
libraries send the output of an observation after its input, often in another batch: `ingest/merge_spans.py` puts the events
of one id together by these times.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from evergold.model.rejected import Rejected
from evergold.model.trace import SpanLine
from evergold.seams import Incoming
from evergold.sources.langfuse import records_of
from evergold.sources.stated_fields import with_stated

OBSERVATIONS = (
    *("generation", "span", "event", "agent", "tool", "chain", "retriever", "evaluator", "embedding", "guardrail"),
)
# Fields of a span line that have a value even where the event gives none, with the spellings under which it gives one.
DEFAULTED = {
    "kind": ("type",),
    "status": ("level",),
    "parent_id": ("parentObservationId", "parent_observation_id"),
}


def records_of_batch(events: list[Any]) -> Iterator[tuple[str, Incoming | Rejected]]:
    """Each record with the id of the event it came by.

    An update may name its observation alone; the trace is then the one that another event of the batch gives for it.
    """
    traces = _traces_of_observations(events)
    for number, event in enumerate(events):
        where = str(event.get("id") or number) if isinstance(event, dict) else str(number)
        body = event.get("body") if isinstance(event, dict) else None
        noun = str(event.get("type")).partition("-")[0] if isinstance(event, dict) else ""
        # Messages of the library about itself (`sdk-log`).
        if noun == "sdk":
            continue
        if not isinstance(body, dict):
            yield where, Rejected(where=where, reason="an event without a body")
            continue
        for record in records_of(_fields(noun, event, where, traces), where):
            yield where, _with_times(record, noun, event) if isinstance(record, SpanLine) else record


def _traces_of_observations(events: list[Any]) -> dict[str, str]:
    """The id of an observation → the id of its trace, where an event of the batch gives both."""
    bodies = (event.get("body") for event in events if isinstance(event, dict))
    pairs = ((body.get("id"), body.get("traceId")) for body in bodies if isinstance(body, dict))
    return {ident: trace for ident, trace in pairs if isinstance(ident, str) and isinstance(trace, str)}


def _fields(noun: str, event: dict[str, Any], where: str, traces: dict[str, str]) -> dict[str, Any]:
    """The body of an event as an exported object; a null says nothing."""
    given = {key: value for key, value in event["body"].items() if value is not None}
    fields = {"id": where, **given}
    if noun == "trace":
        fields.setdefault("timestamp", event.get("timestamp"))
    if noun in OBSERVATIONS:
        fields.setdefault("type", noun.upper())
    if noun in (*OBSERVATIONS, "observation"):
        # The key makes `records_of` read an observation, also from an update that states no start.
        fields.setdefault("startTime", None)
        fields.setdefault("traceId", traces.get(str(fields["id"]), fields["id"]))
    if noun == "score" and isinstance(fields.get("value"), str):
        fields |= {"stringValue": fields["value"], "dataType": fields.get("dataType", "CATEGORICAL")}
    return fields


def _with_times(line: SpanLine, noun: str, event: dict[str, Any]) -> SpanLine:
    body = event["body"]
    unstated = {field for field, keys in DEFAULTED.items() if all(body.get(key) is None for key in keys)}
    if noun in (*OBSERVATIONS, "trace"):
        unstated.discard("kind")
    return with_stated(line, _moment(event.get("timestamp")), unstated)


def _moment(value: Any) -> str:
    """The time of an event as a text that sorts; empty, before all others, where it has none."""
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return ""
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def reply_to(
    events: list[dict[str, Any]], records: list[tuple[str, Incoming | Rejected]], problems: list[str]
) -> dict[str, Any]:
    """Which events were taken, and which were not with the reason; a conflict with what is stored names no event."""
    refused = {where: str(record) for where, record in records if isinstance(record, Rejected)}
    idents = [str(event.get("id") or number) for number, event in enumerate(events)]
    late = [problem for problem in problems if problem not in refused.values()]
    return {
        "successes": [{"id": ident, "status": 201} for ident in idents if ident not in refused],
        "errors": [{"id": where, "status": 400, "message": message} for where, message in refused.items()]
        + [{"id": "", "status": 409, "message": problem} for problem in late],
    }
