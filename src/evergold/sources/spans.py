"""A span as it came over the wire: decoded, checked for shape, not yet understood.

Every trace source (OTLP protobuf, OTLP JSON, Phoenix files, …) ends here, so attribute names are
understood in one place (`conventions`) and not once per transport. Plain slotted classes: on the
intake path a span costs microseconds, and validating each field of it would cost more than storing it.
"""

from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import orjson

from evergold.errors import TooLarge
from evergold.model.nesting import MOST_KEYS

ItemsT = TypeVar("ItemsT", bound=Sized)
Attributes = dict[str, Any]
MOST_RECORDS = 100_000  # of one request; exporters send some thousands at most
NO_TRACE, NO_SPAN = "0" * 32, "0" * 16  # what the protocol says for "none"


class Wire(Enum):
    """The two content types of OTLP over HTTP; a reply is written in the one the request came in."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


@dataclass(slots=True)
class WireEvent:
    """Something that happened inside a span: a message, a choice, an evaluation result."""

    name: str
    time_ns: int
    attributes: Attributes


@dataclass(slots=True)
class WireSpan:
    """One span. Ids are lower-case hex; a root's parent is None; times are nanoseconds since 1970."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    failed: bool = False
    status_message: str | None = None
    attributes: Attributes = field(default_factory=dict)
    events: list[WireEvent] = field(default_factory=list)
    resource: Attributes = field(default_factory=dict)
    scope: str | None = None


@dataclass(slots=True)
class WireLog:
    """One log record. Ids are None where the sender was not inside a span."""

    trace_id: str | None
    span_id: str | None
    event: WireEvent
    body: Any = None
    resource: Attributes = field(default_factory=dict)


@dataclass(slots=True)
class Received:
    """What one request or file held: what could be read, and one line for each record that could not."""

    spans: list[WireSpan] = field(default_factory=list)
    logs: list[WireLog] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    ignored: int = 0

    def check(self, span: WireSpan) -> None:
        """Keep a span whose ids have the shape the protocol demands; refuse the others by name."""
        problem = _problem(span)
        if problem is None:
            self.spans.append(span)
        else:
            self.refused.append(f"span {span.name!r}: {problem}")


def _problem(span: WireSpan) -> str | None:
    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_id
    # The good case costs two lengths and two comparisons; only a bad span is looked at in detail.
    named = len(trace_id) == 32 and len(span_id) == 16 and trace_id != NO_TRACE and span_id != NO_SPAN
    if named and (parent_id is None or (len(parent_id) == 16 and parent_id != NO_SPAN)):
        return None
    problem = _id_problem("trace id", trace_id, 32) or _id_problem("span id", span_id, 16)
    return problem or _id_problem("parent span id", parent_id or "", 16)


def _id_problem(what: str, value: str, digits: int) -> str | None:
    if len(value) != digits:
        return f"{what} {value!r} has {len(value)} hex digits, not {digits}"
    if not value.strip("0"):
        return f"{what} is all zeros"
    return None


def require_few_records(number: int, noun: str) -> None:
    """Refuse a request of so many parts that reading it would hold up all others: an empty one is two bytes long."""
    if number > MOST_RECORDS:
        raise TooLarge(f"{number} {noun} in one request; at most {MOST_RECORDS} are taken: send smaller batches")


def require_few(items: ItemsT) -> ItemsT:
    """The attributes or events of one span, unless there are so many that they would hold up everything else."""
    if len(items) > MOST_KEYS:
        raise ValueError(f"{len(items)} attributes or events on one record; at most {MOST_KEYS} are taken")
    return items


def shorten_texts(value: Any, limit: int, on_cut: Callable[[], None]) -> Any:
    """`value` with every text in it that is longer than `limit` characters cut, and the cut said in the text itself.

    Of a text that is a JSON document, the texts in it are cut: a long conversation of short messages stays whole.
    """
    if isinstance(value, str) and len(value) > limit:
        # A long JSON text is cut inside, so that it stays JSON.
        document = _document(value)
        if document is not None:
            cuts: list[None] = []
            inner = shorten_texts(document, limit, lambda: cuts.append(None))
            for _ in cuts:
                on_cut()
            # Without a cut the text stays byte for byte as it was sent.
            return orjson.dumps(inner, option=orjson.OPT_NON_STR_KEYS).decode() if cuts else value
        on_cut()
        return f"{value[:limit]}… [{len(value) - limit} more characters were cut on arrival]"
    if isinstance(value, list):
        return [shorten_texts(item, limit, on_cut) for item in value]
    if isinstance(value, dict):
        return {key: shorten_texts(item, limit, on_cut) for key, item in value.items()}
    return value


def _document(text: str) -> dict[str, Any] | list[Any] | None:
    """The object or list that a text is the JSON of."""
    if text[:1] not in "[{":
        return None
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict | list) else None
