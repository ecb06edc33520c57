"""Turn the bytes of a request into rows: decoded, read by the conventions, cut to size, redacted, summarised.

Everything that needs no database is done here, before the writer's turn. Ids of sessions and users are not redacted: they hold
the turns of a conversation together, and erasing a user needs them.

A summary of a trace is computed from all of its spans each time some arrive, never added up: spans come late, out of order and
over several requests. It needs the facts of a span, not its texts: it names the spans whose input and output are the trace's.
Of a trace that comes whole in one request the writer only stores the row.

While several requests are under way, a second process does this (`SecondReader`): reading a span and writing it take about as
long, and in one process both share one core. The second process decides
nothing and keeps nothing: when it dies, the requests that it was given are read in the server. It starts when requests
come faster than they are stored and ends when none has come for a while, so that a quiet server is one process.
"""

import threading
import time
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from evergold import plugins
from evergold.conversation.message import repeats_error
from evergold.errors import BadInput, Unavailable
from evergold.prices import MODEL_KINDS, UNKNOWN_COST, Cost, add_costs
from evergold.redact.fields import BoundedRedactor, FieldRedactor, Keys
from evergold.settings import Settings
from evergold.sources.conventions.read_span import content_of, stamp_of
from evergold.sources.conventions.scores import WireScore, result_score, scores_in
from evergold.sources.log_events import DETAILS
from evergold.sources.spans import Received, Wire, WireSpan, shorten_texts
from evergold.spread import begin_worker
from evergold.store.database.rows import SpanRow, TraceRow, dumps, figures_of, make_storable, now, text_or_none
from evergold.store.trace.compact import pack, share_texts, span_row, unshare

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from evergold.model.trace import SpanLine
    from evergold.seams import Redactor

TOKENS = ("input_tokens", "output_tokens", "total_tokens")
AMOUNTS = (*TOKENS, "cost")
NAMED = (("model", "models"), ("tool", "tools"), ("service", "services"))
SHAPES: dict[str, Any] = {
    **dict.fromkeys(AMOUNTS, (int, float)),
    **dict.fromkeys((key for key, _ in NAMED), str),
    **dict.fromkeys(("trace_name", "trace_input", "trace_output", "session_id", "user_id"), str),
    "tags": list,
    "metadata": dict,
}


@dataclass(slots=True)
class SpanFacts:
    """What a summary needs of one span: `stated` are the facts stored with it (model, tokens, session, …).

    Times are texts that sort, empty where the sender gave none.
    """

    id: str
    parent_id: str | None
    name: str
    kind: str
    failed: bool
    started: str
    ended: str
    has_input: bool
    has_output: bool
    stated: dict[str, Any]


@dataclass(slots=True)
class TraceSummary:
    """The trace's own fields. `input` and `output` are set where a span states them for the whole trace."""

    name: str = ""
    status: str = "started"
    started: str = ""
    ended: str = ""
    session_id: str | None = None
    user_id: str | None = None
    input_from: str | None = None
    output_from: str | None = None
    input: str | None = None
    output: str | None = None
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    cost: Cost = UNKNOWN_COST
    errors: list[str] = field(default_factory=list)  # of the failed spans of a failed trace: no answers


def usable_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Keep the facts whose values a summary can use: a sender of whole spans may put anything under these names."""
    return {
        key: value for key, value in facts.items() if isinstance(value, SHAPES.get(key, object)) and value is not None
    }


def summarise(spans: Sequence[SpanFacts]) -> TraceSummary:
    """Summarise a trace from all its spans, in whatever order they come."""
    return summarise_one(spans[0]) if len(spans) == 1 else summarise_many(spans)


def summarise_one(span: SpanFacts) -> TraceSummary:
    """Summarise a trace of one span, as many are: nothing is to be sorted, summed up or chosen from."""
    stated = span.stated
    is_root, is_call = span.parent_id is None, span.kind == "llm"
    speaks = is_root or is_call or span.kind == "event"
    metadata: dict[str, Any] = dict(stated["metadata"]) if "metadata" in stated else {}
    for key in TOKENS:
        if key in stated:
            # `True` becomes 1, as a sum would make it: both ways to summarise must give the same row.
            metadata[key] = 0 + stated[key]
    cost = (
        _add_costs(metadata, (span,), span)
        if not stated.keys().isdisjoint(AMOUNTS) or "cost" in metadata
        else UNKNOWN_COST
    )
    for key, name in NAMED:
        if key in stated:
            metadata[name] = [stated[key]]
    if "models" in metadata:
        metadata.setdefault("model", metadata["models"][-1])
    if span.failed:
        metadata["failed_spans"] = [span.name]
        _add_error(metadata, (span,))
    return TraceSummary(
        stated.get("trace_name") or span.name,
        ("failed" if span.failed else "completed") if is_root or is_call else "started",
        span.started,
        span.ended,
        stated.get("session_id"),
        stated.get("user_id"),
        span.id if speaks and span.has_input else None,
        span.id if speaks and span.has_output else None,
        stated.get("trace_input"),
        stated.get("trace_output"),
        _list_each((span,), "tags") if "tags" in stated else [],
        metadata,
        cost,
        [stated["error"]] if span.failed and (is_root or is_call) and "error" in stated else [],
    )


def summarise_many(spans: Sequence[SpanFacts]) -> TraceSummary:
    """Summarise a trace of any number of spans."""
    ordered = sorted(spans, key=lambda span: (span.started, span.id))
    root = next((span for span in ordered if span.parent_id is None), None)
    calls = [span for span in ordered if span.kind == "llm"]
    events = [span for span in ordered if span.kind == "event"]
    # The root decides. Until it comes (it may be in another service and never come) the last model call does.
    decisive = root or (calls[-1] if calls else None)
    first = (root,) if root else ()
    # The root speaks for the trace; where it is silent, the earliest span that says something does.
    speaking = [*first, *(span for span in ordered if span is not root)]
    stated: dict[str, Any] = {}
    for span in reversed(speaking):
        stated.update(span.stated)  # what the first says stands
    outputs = (span.stated["trace_output"] for span in reversed(speaking) if "trace_output" in span.stated)
    metadata, cost = _metadata(ordered, root, stated)
    status = "started" if decisive is None else "failed" if _is_failure(decisive, ordered) else "completed"
    return TraceSummary(
        name=stated.get("trace_name") or (root or ordered[0]).name,
        status=status,
        started=min((span.started for span in ordered if span.started), default=""),
        ended=max(span.ended for span in ordered),
        session_id=stated.get("session_id"),
        user_id=stated.get("user_id"),
        # The root's, else the first or last model call's, else what was logged beside the spans: the first record of a whole
        # call, or the last single message.
        input_from=next(
            (
                span.id
                for span in (*first, *calls, *(one for one in events if one.name == DETAILS), *reversed(events))
                if span.has_input
            ),
            None,
        ),
        output_from=next((span.id for span in (*first, *reversed(calls), *reversed(events)) if span.has_output), None),
        input=stated.get("trace_input"),
        output=next(outputs) if "trace_output" in stated else None,
        tags=_list_each(ordered, "tags") if "tags" in stated else [],
        metadata=metadata,
        cost=cost,
        errors=[span.stated["error"] for span in ordered if span.failed and "error" in span.stated]
        if status == "failed"
        else [],
    )


def _is_failure(root: SpanFacts, ordered: Sequence[SpanFacts]) -> bool:
    """Whether a trace failed: not where whoever answered fails only by the error of a tool, which the sender passes on."""
    if not (root.failed and root.has_output):
        return root.failed
    errors = {span.stated.get("error") for span in ordered if span.failed and span.kind == "tool"} - {None}
    answering = (span for span in ordered if span.failed and (span is root or span.kind == "llm"))
    return any(not span.has_output or span.stated.get("error") not in errors for span in answering)


def _list_each(ordered: Sequence[SpanFacts], key: str) -> list[Any]:
    return list(dict.fromkeys(str(item) for span in ordered for item in span.stated.get(key, ())))


def _metadata(
    ordered: Sequence[SpanFacts], root: SpanFacts | None, stated: dict[str, Any]
) -> tuple[dict[str, Any], Cost]:
    """Sum up what model calls used and cost, and list what was named; `stated` are the facts that any span states."""
    metadata: dict[str, Any] = {}
    if "metadata" in stated:
        for span in ordered:
            metadata.update(span.stated.get("metadata", ()))
    # Agents and chains repeat the tokens of the calls below them, so only model calls are summed up.
    counted = [span for span in ordered if span.kind in MODEL_KINDS] or [root or ordered[0]]
    for key in TOKENS:
        if key in stated:
            amounts = [span.stated[key] for span in counted if key in span.stated]
            if amounts:
                metadata[key] = sum(amounts)
    cost = _add_costs(metadata, counted, root or ordered[0])
    for key, name in NAMED:
        if key in stated:
            metadata[name] = list(dict.fromkeys(span.stated[key] for span in ordered if key in span.stated))
    if "models" in metadata:
        metadata.setdefault("model", metadata["models"][-1])
    failed = [span for span in ordered if span.failed]
    if failed:
        metadata["failed_spans"] = [span.name for span in failed[:20]]
        _add_error(metadata, [root, *failed] if root is not None and root.failed else failed)
    return metadata, cost


def _add_costs(metadata: dict[str, Any], counted: Sequence[SpanFacts], root: SpanFacts) -> Cost:
    """Add up what calls cost, and put it into the metadata where they report all of it themselves.

    Where none of them reports a cost, that which the app or the root span states counts.
    """
    reports = any("cost" in span.stated for span in counted)
    own = {} if reports else {"cost": metadata.get("cost", root.stated.get("cost"))}
    cost = add_costs(own, [(span.kind, span.stated) for span in counted], root.started)
    if cost.amount is not None and not cost.priced:
        metadata["cost"] = cost.amount
    return cost


def _add_error(metadata: dict[str, Any], failed: Sequence[SpanFacts]) -> None:
    """Add why the trace failed: the first of these errors, unless the app gave one of its own."""
    error = next((span.stated["error"] for span in failed if span.stated.get("error")), None)
    if error is not None:
        metadata.setdefault("error", error)


SpanWithFacts = tuple[SpanRow, dict[str, Any]]  # a span, and what it says


def summarise_spans(spans: Sequence[SpanWithFacts]) -> tuple[list[SpanRow], dict[str, TraceRow]]:
    """Give the rows of these spans, and the rows of their traces by id. Of a span that comes twice the first counts."""
    rows = [row for row, _ in spans]
    traces: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        traces.setdefault(row.trace_id, []).append(number)
    moment = now()
    summaries: dict[str, TraceRow] = {}
    for trace_id, numbers in traces.items():
        if len(numbers) == 1:
            rows[numbers[0]], summaries[trace_id] = _summarise_single(*spans[numbers[0]], moment)
            continue
        # Reversed, so that of two spans with one id the first one sent stays.
        first_seen = {rows[number].id: number for number in reversed(numbers)}
        summary = summarise([facts_of(*spans[number]) for number in first_seen.values()])
        asking, answering = (first_seen.get(span_id or "") for span_id in (summary.input_from, summary.output_from))
        question = None if asking is None else rows[asking].input_text
        answer = None if answering is None else rows[answering].output_text
        summaries[trace_id] = trace = trace_row(trace_id, summary, (question, answer), moment)
        # With a repeated span the rows may yet turn out to be conflicts: their texts stay with them.
        if len(first_seen) == len(numbers):
            for number in numbers:
                row = rows[number]
                # Of most spans neither is: the call alone would cost more than the comparisons.
                if row.input_text == trace.input_text or row.output_text == trace.output_text:
                    rows[number] = share_texts(row, trace, input=True, output=True)
    return rows, summaries


def _summarise_single(row: SpanRow, stated: dict[str, Any], moment: str) -> tuple[SpanRow, TraceRow]:
    """Summarise the only span of a trace, the most common case."""
    summary = summarise_one(facts_of(row, stated))
    asks, answers = summary.input_from is not None, summary.output_from is not None
    trace = trace_row(
        row.trace_id, summary, (row.input_text if asks else None, row.output_text if answers else None), moment
    )
    return share_texts(row, trace, input=asks, output=answers), trace


def facts_of(row: Any, stated: dict[str, Any]) -> SpanFacts:
    """Collect what a summary needs of a span, from a row that has just come or one that is stored."""
    return SpanFacts(
        row.id,
        row.parent_id,
        row.name,
        row.kind,
        row.status == "failed",
        row.started_at or "",
        row.ended_at or "",
        bool(row.input_text),
        bool(row.output_text),
        stated,
    )


def trace_row(trace_id: str, summary: TraceSummary, texts: tuple[str | None, str | None], moment: str) -> TraceRow:
    """Make the row of a summary. `texts`: input and output of the spans that the summary names."""
    question, answer = texts
    answer = None if summary.errors and repeats_error(answer, map(str, summary.errors)) else answer
    return TraceRow(
        trace_id,
        make_storable(summary.session_id),
        make_storable(summary.user_id),
        make_storable(summary.name) or "",
        make_storable(summary.input or question) or "",
        make_storable(summary.output or answer),
        summary.status,
        text_or_none(summary.metadata.get("message_type")),
        text_or_none(summary.metadata.get("model")),
        # Every trace has a start, because lists are sorted by it; one without is as old as its arrival.
        summary.started or moment,
        summary.ended or None,
        dumps(summary.tags) if summary.tags else "[]",
        dumps(summary.metadata),
        moment,
        *figures_of(summary.started, summary.ended, summary.metadata, summary.cost),
    )


IDS = ("session_id", "user_id")
SIDES = {"input": "trace_input", "output": "trace_output"}  # where a span speaks for the whole trace

Texts = tuple[str, str | None, str | None]


def redact_parts(
    texts: Texts, facts: dict[str, Any], raw: dict[str, Any], cleaner: FieldRedactor
) -> tuple[Texts, dict[str, Any], dict[str, Any]]:
    """The texts (name, input, output), what was understood and what was carried of a span, without private things."""
    name, *sides = texts
    apart = {key: facts[key] for key in (*IDS, *SIDES.values()) if key in facts}
    rest = {key: value for key, value in facts.items() if key not in apart}
    # The span's own text and the one it states for the trace are redacted under the same switch.
    parts: dict[str, Any] = {
        side: [text, apart.get(whole)] for (side, whole), text in zip(SIDES.items(), sides, strict=True)
    }
    redacted = cleaner.clean(parts | {"metadata": {"name": name, "facts": rest}, "attributes": raw})
    for side, whole in SIDES.items():
        if whole in apart:
            apart[whole] = redacted[side][1]
    metadata = redacted["metadata"]
    return (
        (metadata["name"], redacted["input"][0], redacted["output"][0]),
        metadata["facts"] | apart,
        redacted["attributes"],
    )


UNUSABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)  # one span's own fault
MOST_COUNTED = 2**40  # what a million spans say can then be added up in 64 bits


class Request(NamedTuple):
    """An OTLP request without its content encoding; `what` is traces or logs."""

    what: str
    wire: Wire
    body: bytes


@dataclass
class PreparedSpans:
    """A batch of spans ready to be written: their rows, the summaries of their traces from these spans alone, the scores
    they carry, and what had to be refused."""

    rows: list[SpanRow] = field(default_factory=list)
    summaries: dict[str, TraceRow] = field(default_factory=dict)
    scores: list[WireScore] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    cut: int = 0
    ignored: int = 0
    redacted: Counter[str] = field(default_factory=Counter)

    def restore_texts(self, trace_ids: Container[str]) -> None:
        """Give the spans of these traces their own texts again."""
        for number, row in enumerate(self.rows):
            if row.shared and row.trace_id in trace_ids:
                summary = self.summaries[row.trace_id]
                self.rows[number] = unshare(row, summary.input_text, summary.output_text)


class RequestReader:
    """Reads requests by the settings. A redactor or a field that does not exist is reported when it is made.

    With a redactor that is installed and cannot be made nothing is read: what is stored may be looked at meanwhile.
    """

    def __init__(self, settings: Settings) -> None:
        self._fields = settings.redact_fields
        self._longest = settings.server_max_text_kb * 1000
        self._redactor, self._missing = redactor_of(settings)
        self._keys = Keys(self._redactor)
        if not self._missing:
            self.cleaner()

    @property
    def is_quick(self) -> bool:
        """Whether reading takes a time that is known: with a redactor of another package it is not."""
        return not isinstance(self._redactor, BoundedRedactor)

    def cleaner(self) -> FieldRedactor:
        """Make a redactor that counts from zero what it replaces."""
        if self._missing:
            raise Unavailable(f"nothing is taken in, because it cannot be redacted: {self._missing}")
        return FieldRedactor(self._redactor, self._fields, self._keys)

    def read(self, request: Request) -> PreparedSpans:
        """Read a request into rows; BadInput where it cannot be read at all."""
        if request.what == "traces":
            received = _decoder_of(request.wire).read_traces(request.body)
        else:
            # Imported here: most servers receive no logs.
            from evergold.sources.log_events import spans_of_logs

            received = spans_of_logs(_decoder_of(request.wire).read_logs(request.body))
        return prepare_request(received, self.cleaner(), self._longest, len(request.body))


def redactor_of(settings: Settings) -> "tuple[Redactor | None, str]":
    """Load the redactor, if any, or say why it cannot be made; one that does not know IP addresses refuses the setting."""
    name = settings.redact_redactor
    if not name:
        return None, ""
    options = {"ip_addresses": True} if settings.redact_ip_addresses else {}
    try:
        redactor: Redactor = plugins.load("redactors", name, **options)
    except BadInput as problem:
        if options or name not in plugins.foreign_names("redactors"):
            raise
        plugins.note_fault("redactors", name, problem.message)
        return None, problem.message
    return (BoundedRedactor(redactor, name) if plugins.is_foreign(redactor) else redactor), ""


def _decoder_of(wire: Wire) -> ModuleType:
    """Import the reader of an encoding when the first request in it arrives."""
    if wire is Wire.PROTOBUF:
        from evergold.sources.otlp import protobuf

        return protobuf
    from evergold.sources.otlp import json

    return json


def prepare_lines(lines: Iterable["SpanLine"]) -> PreparedSpans:
    """Prepare spans that came as nouns; they are redacted already."""
    spans = [(span_row(line.trace_id, line), usable_facts(line.metadata)) for line in lines]
    return PreparedSpans(*summarise_spans(spans))


def prepare_request(received: Received, cleaner: FieldRedactor, longest: int, size: int) -> PreparedSpans:
    """Prepare what a request held. `size` of the whole body: below `longest` no text in it can need cutting."""
    prepared = PreparedSpans(refused=received.refused)
    cuts: list[None] = []
    # A body that is smaller than the limit cannot hold a text that is larger.
    for span in received.spans if size > longest else ():
        span.attributes = shorten_texts(span.attributes, longest, lambda: cuts.append(None))
        for event in span.events:
            event.attributes = shorten_texts(event.attributes, longest, lambda: cuts.append(None))
    private = _with_private_text(received.spans, cleaner)
    prepared_rows: list[SpanWithFacts] = []
    # One look at all spans together found which of them hold anything private; most requests hold nothing.
    for number, span in enumerate(received.spans):
        try:
            prepared_rows.append(_prepare_span(prepared, span, cleaner, number in private))
        except UNUSABLE as problem:
            prepared.refused.append(f"span {span.name[:80]!r} ({span.span_id}): {problem}")
    prepared.rows, prepared.summaries = summarise_spans(prepared_rows)
    for log in received.logs:
        if log.trace_id:
            scores = result_score(log.event, log.trace_id, log.span_id, "log", prepared.refused)
            prepared.scores += [_score(score, cleaner) for score in scores]
    prepared.ignored = received.ignored
    prepared.cut = len(cuts)
    prepared.redacted = cleaner.counts
    return prepared


def _prepare_span(prepared: PreparedSpans, span: WireSpan, cleaner: FieldRedactor, private: bool) -> SpanWithFacts:
    kind, name, question, answer, facts, raw, annotated = content_of(span)
    for amount in AMOUNTS:
        if amount in facts and not -MOST_COUNTED <= facts[amount] <= MOST_COUNTED:
            raise ValueError(f"{amount} is {str(facts[amount])[:30]}; at most {MOST_COUNTED} is taken")
    if private:
        (name, question, answer), facts, raw = redact_parts((name, question, answer), facts, raw, cleaner)
    question, answer = make_storable(question), make_storable(answer)
    if annotated:
        prepared.scores += [_score(score, cleaner) for score in scores_in(span, prepared.refused)]
    stored, heads = pack(raw, question, answer)
    row = SpanRow(
        span.trace_id,
        span.span_id,
        span.parent_id,
        make_storable(name) or "",
        kind,
        question,
        answer,
        "failed" if span.failed else "completed",
        stamp_of(span.start_ns),
        stamp_of(span.end_ns),
        dumps(facts),
        stored,
        0,
        None,
        None,
        heads,
    )
    return row, facts


def _with_private_text(spans: list[WireSpan], cleaner: FieldRedactor) -> set[int]:
    """The numbers of the spans that hold anything private; spans of one sender share its resource, looked at once."""
    # Where all comes from that is kept of a span beside its resource: with nothing private in it, there is none in that.
    redactable: list[list[Any]] = [
        [span.attributes, [event.attributes for event in span.events], span.status_message, span.name] for span in spans
    ]
    suspects = cleaner.find_suspected(redactable)
    # By identity: the reader gives all spans of one sender the same object.
    resources = list({id(span.resource): span.resource for span in spans}.values())
    private_resources = {id(resources[number]) for number in cleaner.find_suspected(resources)}
    if not private_resources:
        return suspects
    return suspects | {number for number, span in enumerate(spans) if id(span.resource) in private_resources}


def _score(score: WireScore, cleaner: FieldRedactor) -> WireScore:
    return replace(score, comment=cleaner.clean({"comments": score.comment})["comments"])


SIZES = range(16_000, 1 << 20)  # smaller: sending costs more than reading; larger: one at a time, to bound memory
BUSY = 3  # requests under way at once
IDLE_SECONDS = 30.0

_reader: RequestReader | None = None  # of the second process


class SecondReader:
    """Start, use and end the second process.

    A pool that breaks calls `_settle` with its own lock held: no method of a pool in use is called with the lock of this object.
    """

    def __init__(self, settings: Settings, reader: RequestReader) -> None:
        self._settings, self._reader = settings, reader
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._started: Future[None] | None = None
        self._can_start = True
        self._last_used = 0.0

    def read(self, request: Request, under_way: int) -> Future[PreparedSpans] | None:
        """Read a request in the second process; None where the caller is to read it, of `under_way` requests at once."""
        if len(request.body) not in SIZES:
            return None
        with self._lock:
            self._last_used = time.monotonic()
            if self._pool is None and self._can_start and under_way >= BUSY:
                self._start()
            pool, started = self._pool, self._started
        if pool is None or started is None or not started.done():
            return None
        if started.exception() is not None:
            self._can_start = False  # it would fail again at each burst
            self._drop(pool)
            return None
        try:
            there = pool.submit(_read, request)
        except RuntimeError:  # the process died, or was ended
            self._drop(pool)
            return None
        read: Future[PreparedSpans] = Future()
        there.add_done_callback(lambda done: self._settle(request, done, read, pool))
        return read

    def close(self) -> None:
        """End the process, if there is one."""
        self._end(self._pool)

    def _settle(
        self, request: Request, there: Future[PreparedSpans], read: Future[PreparedSpans], pool: "ProcessPoolExecutor"
    ) -> None:
        try:
            try:
                read.set_result(there.result())
            except BrokenExecutor:
                self._drop(pool)
                read.set_result(self._reader.read(request))
        except Exception as problem:
            read.set_exception(problem)

    def _start(self) -> None:
        # Imported here: pools cannot be loaded in a program that is ending, in which the SDK still delivers.
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # Not a fork: the server has threads, and a copy would hold their locks for ever.
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), _begin, (self._settings,))
        self._started = self._pool.submit(_finish_start)
        # The process has its own end of the pipe of results now. Ours would keep the pipe open when the process is killed in the
        # middle of a result, and the pool would wait for the rest for ever.
        self._pool._result_queue._writer.close()  # type: ignore[attr-defined]
        self._end_later(self._pool, IDLE_SECONDS)

    def _drop(self, pool: "ProcessPoolExecutor") -> None:
        """Use this pool no more; the next one may have started already."""
        with self._lock:
            if self._pool is pool:
                self._pool = self._started = None

    def _end(self, pool: "ProcessPoolExecutor | None") -> None:
        if pool is not None:
            self._drop(pool)
            pool.shutdown(wait=False)

    def _end_later(self, pool: "ProcessPoolExecutor", seconds: float) -> None:
        timer = threading.Timer(seconds, self._end_if_idle, (pool,))
        timer.daemon = True
        timer.start()

    def _end_if_idle(self, pool: "ProcessPoolExecutor") -> None:
        if self._pool is not pool:
            return
        rest = self._last_used + IDLE_SECONDS - time.monotonic()
        if rest > 0:
            self._end_later(pool, rest)
        else:
            self._end(pool)


def _begin(settings: Settings) -> None:
    global _reader
    begin_worker()
    _reader = RequestReader(settings)


def _finish_start() -> None:
    """Run in the second process when it is ready."""


def _read(request: Request) -> PreparedSpans:
    assert _reader is not None
    return _reader.read(request)
