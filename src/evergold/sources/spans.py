"""A span as it came over the wire: unpacked, decoded, checked for shape, not yet read by the conventions.

Every trace source (OTLP protobuf, OTLP JSON, Phoenix files, …) ends here, so attribute names are read in one place
(`conventions`) and not once per transport. Plain slotted classes: validating each field would cost more than storing it.

A body is unpacked piece by piece and given up as soon as it passes the limit, so a small gzip bomb never becomes a large
one in memory.
"""

import zlib
from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import orjson

from evergold.errors import BadInput, TooLarge, Unsupported
from evergold.model.limits import MOST_KEYS

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
    return f"{what} is all zeros" if not value.strip("0") else None


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


GZIP = 31  # zlib's window bits that say: expect a gzip header
CHUNK, FED = 1 << 20, 1 << 14
# Empty members cost time and no bytes: without a limit a small body could hold millions of them.
MOST_MEMBERS = 1000


def wire_of(content_type: str | None) -> Wire:
    """Which of the two it is; parameters such as a charset are tolerated."""
    name = (content_type or "").split(";", 1)[0].strip().lower()
    if name in ("application/x-protobuf", "application/protobuf"):
        return Wire.PROTOBUF
    if name == "application/json":
        return Wire.JSON
    raise Unsupported(f"content type {name or '(none)'} is not OTLP; send application/x-protobuf or application/json")


def unpack_body(body: bytes, encoding: str | None, limit: int) -> bytes:
    """The body without its content encoding, refused once it is larger than `limit` bytes."""
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        if len(body) > limit:
            raise TooLarge(f"the body has {len(body)} bytes; at most {limit} are taken: send smaller batches")
        return body
    if name != "gzip":
        raise Unsupported(f"content encoding {name!r} is not supported; send gzip or none")
    return _gunzip(body, limit)


def _gunzip(body: bytes, limit: int) -> bytes:
    """Unpack member after member; a gzip stream may have several, one after the other."""
    pieces: list[bytes] = []
    size = at = 0
    for _ in range(MOST_MEMBERS):
        member = zlib.decompressobj(GZIP)
        rest = b""
        while not member.eof:
            # Fed in pieces, because what follows a member is copied: of a whole body that would be all of it, each time.
            fed = rest or body[at : at + FED]
            at += 0 if rest else len(fed)
            if not fed:
                raise BadInput("the gzip body ends too early; send it again")
            try:
                piece = member.decompress(fed, CHUNK)
            except zlib.error as error:
                raise BadInput(f"the body is not valid gzip: {error}") from None
            size += len(piece)
            if size > limit:
                raise TooLarge(f"the body unpacks to more than {limit} bytes: send smaller batches")
            rest = member.unconsumed_tail
            pieces.append(piece)
        # What the last piece held behind the end of the member is read again as the beginning of the next.
        at -= len(member.unused_data)
        if at >= len(body):
            return b"".join(pieces)
    raise TooLarge(f"the gzip body has more than {MOST_MEMBERS} members; compress it as one")
