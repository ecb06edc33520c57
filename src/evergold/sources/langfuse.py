"""Langfuse exports: traces, observations and scores, as its API, its interface and its scheduled exports write them.

A trace becomes the root step of a trace here and its observations the steps below it, so that files of traces, of
observations and of scores can be read in any order. Enriched observations say themselves what their trace is (user, session,
name, tags); then there is no file of traces, and the observation without a parent is the root. Both spellings of a key are known
(`traceId`, `trace_id`), and tables as well as JSON.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from evergold.model.rejected import Rejected
from evergold.model.trace import ScoreLine, ScoreSource, SpanLine, TraceStatus
from evergold.seams import Incoming
from evergold.sources.conventions.messages import as_json, input_text, loaded, output_text
from evergold.sources.conventions.names import KINDS
from evergold.sources.conventions.scores import LABELS
from evergold.sources.documents import columns_of, documents

SOURCES = {"ANNOTATION": ScoreSource.HUMAN, "EVAL": ScoreSource.LLM_JUDGE, "API": ScoreSource.SYSTEM}
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
)
INPUT_TOKENS = ("input", "promptTokens", "prompt_tokens", "input_tokens")  # OpenAI's usage may be passed on as it is
OUTPUT_TOKENS = ("output", "completionTokens", "completion_tokens", "output_tokens")
NON_NUMERIC = ("CATEGORICAL", "TEXT")  # kinds of score whose number is an index, or stands for nothing


class LangfuseExport:
    """Traces, observations and scores, in any mixture."""

    def accepts(self, head: bytes) -> bool:
        columns = columns_of(head)
        return any(sign in columns if columns else f'"{sign}"'.encode() in head for sign in SIGNS)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for item in documents(lines, name):
            if isinstance(item, Rejected):
                yield item
            elif isinstance(item[1], dict):
                yield from records_of(item[1], item[0])
            else:
                yield Rejected(where=item[0], reason=f"expected an object, got {type(item[1]).__name__}")


def records_of(document: dict[str, Any], where: str) -> Iterator[Incoming | Rejected]:
    """The records of an exported object: a trace, an observation, a score, or a page's download of a whole trace."""
    trace = document.get("trace")
    if isinstance(trace, dict):
        whole = {**trace, **{key: document[key] for key in ("observations", "scores") if key in document}}
        yield from _record(Exported(whole), where)
    else:
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
        if "trace_id" in exported and ("value" in exported or "data_type" in exported):
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
    started = trace.get("timestamp", "created_at")
    facts = {
        "session_id": trace.get("session_id"),
        "user_id": trace.get("user_id"),
        "tags": loaded(trace.get("tags")),
        "metadata": _object(trace.get("metadata")),
    }
    return SpanLine(
        trace_id=trace.get("id"),
        id=trace.get("id"),
        name=trace.get("name") or "",
        kind="chain",
        input=input_text(trace.get("input")),
        output=output_text(trace.get("output")),
        started_at=started,
        ended_at=_later(started, trace.get("latency")),
        metadata={key: value for key, value in facts.items() if value} | _carried(trace, "trace"),
    )


def _observation(observation: Exported) -> SpanLine:
    usage = _object(observation.get("usage_details", "usage"))
    costs = _object(observation.get("cost_details"))
    facts = {
        "session_id": observation.get("session_id"),
        "user_id": observation.get("user_id"),
        "trace_name": observation.get("trace_name"),
        "tags": loaded(observation.get("tags")),
        "model": observation.get("provided_model_name", "model"),
        "input_tokens": _first(usage, INPUT_TOKENS),
        "output_tokens": _first(usage, OUTPUT_TOKENS),
        "cost": _number(observation.get("calculated_total_cost", "total_cost") or costs.get("total")),
        "tool": observation.get("name") if observation.get("type") == "TOOL" else None,
        "metadata": _object(observation.get("metadata")),
        "error": observation.get("status_message"),
    }
    failed = observation.get("level") == "ERROR"
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
        status=TraceStatus.FAILED if failed else TraceStatus.COMPLETED,
        started_at=observation.get("start_time"),
        ended_at=observation.get("end_time"),
        metadata={key: value for key, value in facts.items() if value not in (None, {}, [], "")}
        | _carried(observation, "observation"),
    )


def _carried(exported: Exported, level: str) -> dict[str, Any]:
    """Input and output as they came, where they are more than a text, and what the model was called with.

    Under the names that Langfuse's own library sends them by, so that messages are read from both in one way.
    """
    attributes: dict[str, Any] = {}
    for side in ("input", "output"):
        value = loaded(exported.get(side))
        if isinstance(value, dict | list) and value:
            attributes[f"langfuse.{level}.{side}"] = as_json(value)
    if parameters := _object(exported.get("model_parameters")):
        attributes["langfuse.observation.model.parameters"] = as_json(parameters)
    for key in ("prompt_name", "prompt_version"):
        if (value := exported.get(key)) is not None:
            attributes[f"langfuse.observation.{key.replace('_', '.')}"] = value
    return {"attributes": attributes} if attributes else {}


def _score(score: Exported, where: str) -> ScoreLine | Rejected:
    """A score that is a number. Of one that is a word only those words are numbers that say so."""
    value, word = score.get("value"), score.get("string_value")
    if not score.get("trace_id"):
        return Rejected(
            where=where, field="trace_id", reason="a score of no trace (of a session or a run) is not taken"
        )
    if str(score.get("data_type")).upper() in NON_NUMERIC:
        value = LABELS.get(str(word).strip().lower())
        if value is None:
            return Rejected(
                where=where, field="value", reason=f"the score {word!r} is a word, not a number from 0 to 1"
            )
    return ScoreLine(
        trace_id=score.get("trace_id"),
        span_id=score.get("observation_id") or None,
        name=score.get("name"),
        value=value,
        source=SOURCES.get(str(score.get("source")).upper(), ScoreSource.SYSTEM),
        comment=score.get("comment", "string_value"),
        key=score.get("id"),
        created_at=score.get("timestamp", "created_at"),
    )


def _object(value: Any) -> dict[str, Any]:
    parsed = loaded(value)
    return parsed if isinstance(parsed, dict) else {}


def _first(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _number(value: Any) -> Any:
    """An amount, which a table or a decimal column gives as text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _later(moment: Any, seconds: Any) -> Any:
    if not isinstance(moment, str) or not isinstance(seconds, (int, float)):
        return None
    try:
        return datetime.fromisoformat(moment) + timedelta(seconds=seconds)
    except (ValueError, OverflowError):  # the record is refused for the time itself, where that is what is wrong
        return None
