"""Langfuse: traces, observations and scores, from exports and from the batches of events that its older libraries send.

Exports are read as its API, its interface and its scheduled exports write them. A trace becomes the root step of a trace here
and its observations the steps below it, so that files of traces, of observations and of scores can be read in any order.
Enriched observations say themselves what their trace is (user, session, name, tags); then there is no file of traces, and the
observation without a parent is the root. Both spellings of a key are known (`traceId`, `trace_id`), and tables as well as JSON.

A batch holds events that create and update traces, observations and scores. Each event of a trace or an observation becomes a
span line that records which of its fields the event stated, and when. The libraries send the output of an observation after its
input, often in another batch: `merge_lines`, which `ingest/records.py` calls, puts the lines of one id together by these
times. The rules are Langfuse's: for each field the event with the latest time stands, whatever the order of arrival; a null
states nothing; the start is that of the first event; metadata and tags are united. Merging is idempotent, so a batch that is
sent again changes nothing. The times are kept with the span, as one of its attributes.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from evergold.conversation.message import as_json, decode_object, first_of
from evergold.formats.lines import columns_of
from evergold.model.faults import Rejected
from evergold.model.trace import Correction, ScoreLine, ScoreSource, SpanLine, TraceStatus
from evergold.seams import Incoming
from evergold.sources.conventions.messages import input_text, output_text, parse_json
from evergold.sources.conventions.read_span import KINDS
from evergold.sources.conventions.scores import read_value
from evergold.sources.jsonl import read_documents

SCORE_SOURCES = {"ANNOTATION": ScoreSource.HUMAN, "EVAL": ScoreSource.LLM_JUDGE, "API": ScoreSource.SYSTEM}
SIGNS = (
    "parentObservationId",
    "parent_observation_id",
    "observationId",
    "observation_id",
    "htmlPath",
    "bookmarked",
    "statusMessage",
    "trace_name",
    "observations",
    "authorUserId",
    "author_user_id",
)
INPUT_TOKENS = ("input", "promptTokens", "prompt_tokens", "input_tokens")  # OpenAI's usage may be passed on as it is
OUTPUT_TOKENS = ("output", "completionTokens", "completion_tokens", "output_tokens")
NON_NUMERIC = ("CATEGORICAL", "TEXT")  # kinds of score whose number is an index, or stands for nothing
STATED = "langfuse.event.fields"  # attribute: the fields of the span by the time of the event that stated them
LINE_FIELDS = ("parent_id", "name", "kind", "status", "started_at", "ended_at")
SIDES = ("input", "output")
ATTRIBUTES = "attributes"
Fields = dict[str, Any]
OBSERVATIONS = (
    *("generation", "span", "event", "agent", "tool", "chain", "retriever", "evaluator", "embedding", "guardrail"),
)
# Fields of a span line that have a value even where the event gives none, with the spellings under which it gives one.
DEFAULTED = {"kind": ("type",), "status": ("level",), "parent_id": ("parentObservationId", "parent_observation_id")}


class LangfuseExport:
    """Traces, observations and scores, in any mixture."""

    def accepts(self, head: bytes) -> bool:
        columns = columns_of(head)
        return any(sign in columns if columns else f'"{sign}"'.encode() in head for sign in SIGNS)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for item in read_documents(lines, name):
            if isinstance(item, Rejected):
                yield item
            elif isinstance(item[1], dict):
                yield from records_of(item[1], item[0])
            else:
                yield Rejected(where=item[0], reason=f"expected an object, got {type(item[1]).__name__}")


def records_of(document: dict[str, Any], where: str) -> Iterator[Incoming | Rejected]:
    """The records of an exported object: a trace, an observation, a score, or a page's download of a whole trace."""
    if isinstance(trace := document.get("trace"), dict):
        document = {**trace, **{key: document[key] for key in ("observations", "scores") if key in document}}
    yield from _record(Exported(document), where)


class Exported:
    """An exported object whose keys may be written `likeThis` or `like_this`."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = {
            "".join(f"_{c.lower()}" if c.isupper() else c for c in key): value for key, value in fields.items()
        }

    def get(self, *names: str) -> Any:
        return next((self._fields[name] for name in names if self._fields.get(name) is not None), None)

    def __contains__(self, name: str) -> bool:
        return name in self._fields


def _record(exported: Exported, where: str) -> Iterator[Incoming | Rejected]:
    try:
        # By their keys, because exports do not say what a record is; a score is asked first, as it has a trace id too.
        if ("trace_id" in exported or "subject" in exported) and ("value" in exported or "data_type" in exported):
            yield _score(exported, where)
        elif "trace_id" in exported and "start_time" in exported:
            yield _observation(exported)
        elif "id" in exported:
            yield _root(exported)
            for key in ("observations", "scores"):
                listed = exported.get(key)
                for position, inner in enumerate(listed if isinstance(listed, list) else ()):
                    if isinstance(inner, dict):
                        own = {"trace_id": exported.get("id"), **inner}
                        yield from _record(Exported(own), f"{where}.{key}[{position}]")
        else:
            yield Rejected(where=where, reason="neither a trace, an observation nor a score")
    except ValidationError as problem:
        yield Rejected.of(problem, where, SpanLine | ScoreLine)


def _root(trace: Exported) -> SpanLine:
    started, latency = trace.get("timestamp", "created_at"), trace.get("latency")
    ended: datetime | None = None
    if isinstance(started, str) and isinstance(latency, (int, float)):
        # The record is refused for the time itself, where that is what is wrong.
        with suppress(ValueError, OverflowError):
            ended = datetime.fromisoformat(started) + timedelta(seconds=latency)
    facts = {
        "session_id": trace.get("session_id"),
        "user_id": trace.get("user_id"),
        "tags": parse_json(trace.get("tags")),
        "metadata": decode_object(trace.get("metadata")),
    }
    return SpanLine(
        trace_id=trace.get("id"),
        id=trace.get("id"),
        name=trace.get("name") or "",
        kind="chain",
        input=input_text(trace.get("input")),
        output=output_text(trace.get("output")),
        started_at=started,
        ended_at=ended,
        metadata={key: value for key, value in facts.items() if value} | _exported_attributes(trace, "trace"),
    )


def _observation(observation: Exported) -> SpanLine:
    usage = decode_object(observation.get("usage_details", "usage"))
    cost = observation.get("calculated_total_cost", "total_cost")
    cost = cost or decode_object(observation.get("cost_details")).get("total")
    if isinstance(cost, str):  # as a table or a decimal column gives it
        try:
            cost = float(cost)
        except ValueError:
            cost = None
    facts = {
        "session_id": observation.get("session_id"),
        "user_id": observation.get("user_id"),
        "trace_name": observation.get("trace_name"),
        "tags": parse_json(observation.get("tags")),
        "model": observation.get("provided_model_name", "model"),
        "input_tokens": first_of(usage, INPUT_TOKENS),
        "output_tokens": first_of(usage, OUTPUT_TOKENS),
        "cost": cost,
        "tool": observation.get("name") if observation.get("type") == "TOOL" else None,
        "metadata": decode_object(observation.get("metadata")),
        "error": observation.get("status_message"),
    }
    # No file of traces will bring the root then, so an observation without a parent is it.
    enriched = "trace_name" in observation or "user_id" in observation
    return SpanLine(
        trace_id=observation.get("trace_id"),
        id=observation.get("id"),
        # The trace's own id is the id of its root span here (`_root`).
        parent_id=observation.get("parent_observation_id") or (None if enriched else observation.get("trace_id")),
        name=observation.get("name") or "",
        kind=KINDS.get(str(observation.get("type")).lower(), "span"),
        input=input_text(observation.get("input")),
        output=output_text(observation.get("output")),
        status=TraceStatus.FAILED if observation.get("level") == "ERROR" else TraceStatus.COMPLETED,
        started_at=observation.get("start_time"),
        ended_at=observation.get("end_time"),
        metadata={key: value for key, value in facts.items() if value not in (None, {}, [], "")}
        | _exported_attributes(observation, "observation"),
    )


def _exported_attributes(exported: Exported, level: str) -> dict[str, Any]:
    """Input and output as they came, where they are more than a text, and what the model was called with.

    Under the names that Langfuse's own library sends them by, so that messages are read from both in one way.
    """
    attributes: dict[str, Any] = {}
    for side in ("input", "output"):
        value = parse_json(exported.get(side))
        if isinstance(value, dict | list) and value:
            attributes[f"langfuse.{level}.{side}"] = as_json(value)
    if parameters := decode_object(exported.get("model_parameters")):
        attributes["langfuse.observation.model.parameters"] = as_json(parameters)
    for key in ("prompt_name", "prompt_version"):
        if (value := exported.get(key)) is not None:
            attributes[f"langfuse.observation.{key.replace('_', '.')}"] = value
    return {"attributes": attributes} if attributes else {}


def _score(score: Exported, where: str) -> ScoreLine | Correction | Rejected:
    """A score that is a number, or the answer that somebody corrected. The newest interface names a `subject`."""
    subject = Exported(decode_object(score.get("subject")))
    trace_id, span_id = score.get("trace_id"), score.get("observation_id") or None
    if (kind := subject.get("kind")) in ("trace", "observation"):
        span_id = subject.get("id") if kind == "observation" else None
        trace_id = subject.get("trace_id") if kind == "observation" else subject.get("id")
    if not trace_id:
        return Rejected(
            where=where, field="trace_id", reason="a score of no trace (of a session or a run) is not taken"
        )
    kind, value, word = str(score.get("data_type")).upper(), score.get("value"), score.get("string_value")
    if kind == "CORRECTION":
        return Correction(trace_id=trace_id, text=word or value, author=score.get("author_user_id"))
    # The number of a category is its index, and that of a text stands for nothing; the newest interface gives the word.
    word = value if isinstance(value, str) and word is None and kind in NON_NUMERIC else word
    name = str(score.get("name"))
    given = read_value(name, None if kind in NON_NUMERIC else value, word)
    if given is None and kind in NON_NUMERIC:
        return Rejected(where=where, field="value", reason=f"the score {word!r} is a word, not a number from 0 to 1")
    return ScoreLine(
        trace_id=trace_id,
        span_id=span_id,
        name=name,
        value=value if given is None else given,
        source=SCORE_SOURCES.get(str(score.get("source")).upper(), ScoreSource.SYSTEM),
        comment=score.get("comment", "string_value"),
        key=score.get("id"),
        created_at=score.get("timestamp", "created_at"),
    )


def record_stated(line: SpanLine, moment: str, unstated: Collection[str]) -> SpanLine:
    """The line with a record of what it states: all that has a value, but for the `unstated` fields."""
    stated = sorted(name for name in _fields_of(line) if name not in unstated)
    attributes = {**line.metadata.get(ATTRIBUTES, {}), STATED: {moment: stated}}
    return line.model_copy(update={"metadata": {**line.metadata, ATTRIBUTES: attributes}})


def is_mergeable(line: SpanLine) -> bool:
    """Whether the line records what it states."""
    return STATED in _attributes(line)


def merge_lines(first: SpanLine, later: SpanLine) -> SpanLine:
    """Put two parts of one span together; `later` arrived later, which decides where their times are equal."""
    before, after = _fields_of(first), _fields_of(later)
    old, new = _times_of(first), _times_of(later)
    fields, times = dict(before), dict(old)
    for name in after:
        # A default of the line (a kind, a status) that the event did not state never replaces what is known.
        if name not in new and name in before:
            continue
        moment = new.get(name, "")
        known = name in old
        if known and isinstance(before.get(name), dict) and isinstance(after[name], dict):
            # The keys of the first part keep their order, whichever part has the later values.
            fields[name] = before[name] | (after[name] if moment >= old[name] else after[name] | before[name])
        elif known and name == "tags" and isinstance(before[name], list) and isinstance(after[name], list):
            both = [*before[name], *after[name]]  # whatever a sender wrote into a list of tags
            fields[name] = [tag for number, tag in enumerate(both) if tag not in both[:number]]
        # The earliest event states the start; every other field is that of the latest, and of the later arrival at
        # equal times.
        elif not known or (moment < old[name] if name == "started_at" else moment >= old[name]):
            fields[name] = after[name]
        if name in new:
            of_both = min if name == "started_at" else max
            times[name] = of_both(old.get(name, moment), moment)
    return _line_of(first, fields, times)


def _fields_of(line: SpanLine) -> Fields:
    """All that a line states, by name; a side is its text and the attribute that holds it as it came."""
    attributes = dict(_attributes(line))
    attributes.pop(STATED, None)
    fields: Fields = {name: getattr(line, name) for name in LINE_FIELDS}
    for side in SIDES:
        carried = {
            name: attributes.pop(name)
            for name in (f"langfuse.trace.{side}", f"langfuse.observation.{side}")
            if name in attributes
        }
        fields[side] = (getattr(line, side), carried) if getattr(line, side) or carried else None
    fields |= {name: value for name, value in line.metadata.items() if name != ATTRIBUTES}
    fields |= attributes
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _line_of(first: SpanLine, fields: Fields, times: dict[str, str]) -> SpanLine:
    attributes: Fields = {}
    values: Fields = {name: fields.pop(name) for name in LINE_FIELDS if name in fields}
    for side in SIDES:
        values[side], carried = fields.pop(side, (None, {}))
        attributes |= carried
    attributes |= {name: fields.pop(name) for name in list(fields) if "." in name}
    attributes[STATED] = {
        moment: sorted(name for name, at in times.items() if at == moment) for moment in sorted(set(times.values()))
    }
    known = {name: fields[name] for name in first.metadata if name in fields}  # in their order: equal rows stay equal
    metadata = known | fields | {ATTRIBUTES: attributes}
    return SpanLine(trace_id=first.trace_id, id=first.id, metadata=metadata, **values)


def _attributes(line: SpanLine) -> Fields:
    attributes = line.metadata.get(ATTRIBUTES)
    return attributes if isinstance(attributes, dict) else {}


def _times_of(line: SpanLine) -> dict[str, str]:
    stated = _attributes(line).get(STATED)
    return {name: moment for moment, names in stated.items() for name in names} if isinstance(stated, dict) else {}


def records_of_batch(events: list[Any]) -> Iterator[tuple[str, Incoming | Rejected]]:
    """Each record with the id of the event it came by.

    An update may name its observation alone; the trace is then the one that another event of the batch gives for it.
    """
    bodies = (event.get("body") for event in events if isinstance(event, dict))
    pairs = ((body.get("id"), body.get("traceId")) for body in bodies if isinstance(body, dict))
    # The id of an observation → the id of its trace, where an event of the batch gives both.
    traces = {ident: trace for ident, trace in pairs if isinstance(ident, str) and isinstance(trace, str)}
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
        for record in records_of(_event_fields(noun, event, where, traces), where):
            if isinstance(record, SpanLine):
                unstated = {field for field, keys in DEFAULTED.items() if all(body.get(key) is None for key in keys)}
                if noun in (*OBSERVATIONS, "trace"):
                    unstated.discard("kind")
                record = record_stated(record, _event_time(event.get("timestamp")), unstated)
            yield where, record


def _event_fields(noun: str, event: dict[str, Any], where: str, traces: dict[str, str]) -> dict[str, Any]:
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


def _event_time(value: Any) -> str:
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
