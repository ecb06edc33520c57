"""Langfuse exports: traces, observations and scores, as its API, its interface and its scheduled exports write them.

A trace becomes the root step of a trace here and its observations the steps below it, so that files of traces, of
observations and of scores can be read in any order. Both spellings of a key are known (`traceId`, `trace_id`).
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from evergold.model.rejected import Rejected
from evergold.model.trace import ScoreLine, ScoreSource, SpanLine, TraceStatus
from evergold.seams import Incoming
from evergold.sources.conventions import KINDS
from evergold.sources.documents import documents
from evergold.sources.messages import input_text, loaded, output_text

SOURCES = {"ANNOTATION": ScoreSource.HUMAN, "EVAL": ScoreSource.LLM_JUDGE, "API": ScoreSource.SYSTEM}
SIGNS = (
    b'"parentObservationId"',
    b'"parent_observation_id"',
    b'"observationId"',
    b'"observation_id"',
    b'"htmlPath"',
    b'"bookmarked"',
    b'"statusMessage"',
)


class LangfuseExport:
    """Traces, observations and scores, in any mixture."""

    def accepts(self, head: bytes) -> bool:
        return any(sign in head for sign in SIGNS)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for item in documents(lines, name):
            if isinstance(item, Rejected):
                yield item
            elif isinstance(item[1], dict):
                yield from _record(Exported(item[1]), item[0])
            else:
                yield Rejected(where=item[0], reason=f"expected an object, got {type(item[1]).__name__}")


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
        if "value" in exported and "trace_id" in exported:
            yield _score(exported)
        elif "trace_id" in exported and "start_time" in exported:
            yield _observation(exported)
        elif "id" in exported:
            yield _root(exported)
            for key in ("observations", "scores"):
                for position, inner in enumerate(exported.get(key) or []):
                    if isinstance(inner, dict):
                        own = {"trace_id": exported.get("id"), **inner}
                        yield from _record(Exported(own), f"{where}.{key}[{position}]")
        else:
            yield Rejected(where=where, reason="neither a trace, an observation nor a score")
    except ValidationError as problem:
        yield Rejected.of(problem, where)


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
        metadata={key: value for key, value in facts.items() if value},
    )


def _observation(observation: Exported) -> SpanLine:
    usage = _object(observation.get("usage_details", "usage"))
    costs = _object(observation.get("cost_details"))
    facts = {
        "model": observation.get("provided_model_name", "model"),
        "input_tokens": usage.get("input"),
        "output_tokens": usage.get("output"),
        "cost": observation.get("calculated_total_cost") or costs.get("total"),
        "tool": observation.get("name") if observation.get("type") == "TOOL" else None,
        "metadata": _object(observation.get("metadata")),
        "error": observation.get("status_message"),
    }
    failed = observation.get("level") == "ERROR"
    return SpanLine(
        trace_id=observation.get("trace_id"),
        id=observation.get("id"),
        parent_id=observation.get("parent_observation_id") or observation.get("trace_id"),
        name=observation.get("name") or "",
        kind=KINDS.get(str(observation.get("type")).lower(), "span"),
        input=input_text(observation.get("input")),
        output=output_text(observation.get("output")),
        status=TraceStatus.FAILED if failed else TraceStatus.COMPLETED,
        started_at=observation.get("start_time"),
        ended_at=observation.get("end_time"),
        metadata={key: value for key, value in facts.items() if value not in (None, {}, "")},
    )


def _score(score: Exported) -> ScoreLine:
    return ScoreLine(
        trace_id=score.get("trace_id"),
        span_id=score.get("observation_id"),
        name=score.get("name"),
        value=score.get("value"),
        source=SOURCES.get(str(score.get("source")).upper(), ScoreSource.SYSTEM),
        comment=score.get("comment", "string_value"),
        key=score.get("id"),
        created_at=score.get("timestamp", "created_at"),
    )


def _object(value: Any) -> dict[str, Any]:
    found = loaded(value)
    return found if isinstance(found, dict) else {}


def _later(moment: Any, seconds: Any) -> Any:
    if not isinstance(moment, str) or not isinstance(seconds, (int, float)):
        return None
    return datetime.fromisoformat(moment) + timedelta(seconds=seconds)
