"""Batches as Langfuse's older libraries send them: events that create and update traces, observations and scores."""

from collections.abc import Iterator
from typing import Any

from evergold.model.rejected import Rejected
from evergold.seams import Incoming
from evergold.sources.langfuse import records_of

TYPES = {"generation": "GENERATION", "span": "SPAN", "event": "EVENT"}


def records_of_batch(events: list[Any]) -> Iterator[tuple[str, Incoming | Rejected]]:
    """Each record with the id of the event it came by. Events of one batch that name one thing are put together."""
    bodies: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
    for number, event in enumerate(events):
        where = str(event.get("id") or number) if isinstance(event, dict) else str(number)
        body = event.get("body") if isinstance(event, dict) else None
        kind = str(event.get("type")) if isinstance(event, dict) else ""
        noun = kind.partition("-")[0]
        if noun == "sdk":
            continue
        if not isinstance(body, dict):
            yield where, Rejected(where=where, reason="an event without a body")
            continue
        given = {key: value for key, value in body.items() if value is not None}
        if noun in TYPES:
            given.setdefault("type", TYPES[noun])
        if noun == "trace":
            given.setdefault("timestamp", event.get("timestamp"))
        thing = "observation" if noun in (*TYPES, "observation") else noun
        first, known = bodies.get((thing, str(body.get("id") or where)), (where, {}))
        bodies[thing, str(body.get("id") or where)] = (first, known | given)
    for (thing, ident), (where, body) in bodies.items():
        fields = {"id": ident, **body}
        if thing == "observation":
            fields.setdefault("startTime", None)
            fields.setdefault("traceId", ident)
        if thing == "score" and isinstance(fields.get("value"), str):
            fields |= {"stringValue": fields["value"], "dataType": fields.get("dataType", "CATEGORICAL")}
        for record in records_of(fields, where):
            yield where, record


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
