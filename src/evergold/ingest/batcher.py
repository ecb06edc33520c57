"""Store OTLP requests: those that wait for the writer are written together, up to a number of spans.

While one transaction commits, the next requests arrive. Written one by one, each would cost its own dozen statements; together
they cost as many as one. Were all that wait taken at once, every sender would wait for the last of them.

Every known fault of a record is refused in `prepare`. For unknown ones, a request that fails by itself though the database works
is written again in halves, in savepoints, until what fails is one record, which is then refused by name.
"""

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

from sqlalchemy import Connection

from evergold.errors import Unavailable
from evergold.ingest.feedback import apply_feedback, apply_pending
from evergold.ingest.prepare import PreparedSpans, facts_of, summarise, summarise_spans, trace_row, usable_facts
from evergold.model.operations import IngestReport
from evergold.sources.conventions.read_span import score_line
from evergold.store import Store
from evergold.store.case.content import note_growth
from evergold.store.database.db import CONTENDED_TRIES
from evergold.store.database.failures import explanation, met_another_server
from evergold.store.database.rows import SpanKey, TraceRow, loads, now
from evergold.store.facts import count
from evergold.store.trace.compact import RecentSpans, unshare_texts
from evergold.store.trace.scores import enqueue, enqueue_new, take_pending
from evergold.store.trace.spans import (
    bare_spans,
    insert_spans,
    insert_traces,
    replace_spans,
    sort_spans,
    stored_traces,
    texts_of,
    update_summaries,
)


@dataclass
class SpansWritten:
    """The outcome of a batch of spans. `refused` has one line for each span or score that was not stored."""

    spans: int = 0
    new_traces: list[str] = field(default_factory=list)
    scores: int = 0
    duplicates: int = 0
    cut: int = 0
    refused: list[str] = field(default_factory=list)


def write_spans(
    connection: Connection,
    many: Sequence[PreparedSpans],
    recent: RecentSpans | None = None,
    replaceable: Collection[SpanKey] = (),
) -> list[SpansWritten]:
    """Store the new spans of several batches; summaries are recomputed from all spans, never added up.

    `recent`: spans of earlier transactions, which those that repeat them are described by. `replaceable`: stored spans
    that take the content sent now; others keep their first.
    """
    pieces = Counter(trace_id for prepared in many for trace_id in prepared.summaries)
    known = stored_traces(connection, pieces)
    # Their rows are about to change, and spans that read their texts from the row would change with it.
    unshare_texts(connection, known)
    # The same trace in several requests of this batch: no single request knows its whole summary.
    in_pieces = {trace_id for trace_id, times in pieces.items() if times > 1} if len(pieces) < pieces.total() else set()
    if known or in_pieces:
        for prepared in many:
            prepared.restore_texts(known.keys() | in_pieces)
    batch = sort_spans(connection, [row for prepared in many for row in prepared.rows], known, replaceable)
    known_already = "span {0.id} of trace {0.trace_id} is known with other content; the first is kept"
    closed = "trace {0.trace_id} was given whole and takes no more spans; span {0.id} is refused"
    problems = {id(row): known_already.format(row) for row in batch.conflicting}
    problems |= {id(row): closed.format(row) for row in batch.closed}
    fresh = dict.fromkeys(row.trace_id for row in batch.fresh if row.trace_id not in batch.growing)
    # Reversed, so that of a trace in several requests the first summary stays.
    all_summaries = {trace_id: row for prepared in reversed(many) for trace_id, row in prepared.summaries.items()}
    summaries = [all_summaries[trace_id] for trace_id in fresh]
    seqs = {trace_id: stored.seq for trace_id, stored in known.items()}
    seqs |= insert_traces(connection, TraceRow._fields, summaries)
    # Only spans of stored traces can be bases, so traces are inserted before.
    rows = (recent or RecentSpans()).shorten(connection, batch.fresh, seqs, all_summaries)
    insert_spans(connection, rows, seqs)
    replace_spans(connection, batch.replacing, seqs)
    batch.growing |= {row.trace_id for row in batch.replacing}
    rebuilt = batch.growing | in_pieces.intersection(fresh)
    if rebuilt:
        update_summaries(connection, _rebuild(connection, rebuilt))
        enqueue(connection, rebuilt)
    # Feedback that came before its trace is applied in the transaction that stores the trace.
    if waiting := take_pending(connection, fresh):
        apply_pending(connection, waiting, IngestReport())
    # By identity: requests of one batch may hold equal rows, of which one was stored.
    new = {id(row) for row in batch.fresh}
    unreported = dict(fresh)
    written = [_report_batch(connection, prepared, new, problems, unreported) for prepared in many]
    if batch.growing:
        note_growth(connection, batch.growing)
    enqueue_new(connection, {summary.id: summary.session_id for summary in summaries})
    _count_outcomes(connection, many, written)
    return written


def _count_outcomes(connection: Connection, many: Sequence[PreparedSpans], written: Sequence[SpansWritten]) -> None:
    """Add what was redacted, refused, cut and left out to the counters of the workspace."""
    counts = Counter(f"redacted.{kind}" for prepared in many for kind in prepared.redacted.elements())
    for prepared, one in zip(many, written, strict=True):
        counts += Counter(
            {"otlp.refused": len(one.refused), "otlp.cut": prepared.cut, "otlp.ignored_logs": prepared.ignored}
        )
    if counts:  # else there is nothing to write
        count(connection, counts)


def _report_batch(
    connection: Connection,
    prepared: PreparedSpans,
    new: set[int],
    problems: dict[int, str],
    unreported: dict[str, None],
) -> SpansWritten:
    """Report the outcome of one batch. A trace that several batches began is reported to the first of them."""
    report = IngestReport()
    if prepared.scores:
        apply_feedback(connection, [score_line(score, score.comment) for score in prepared.scores], report)
    refused = [problems[id(row)] for row in prepared.rows if id(row) in problems] if problems else []
    spans = sum(id(row) in new for row in prepared.rows)
    began = [trace_id for trace_id in dict.fromkeys(row.trace_id for row in prepared.rows) if trace_id in unreported]
    for trace_id in began:
        del unreported[trace_id]
    return SpansWritten(
        spans=spans,
        new_traces=began,
        scores=report.scores,
        duplicates=len(prepared.rows) - spans - len(refused),
        cut=prepared.cut,
        refused=prepared.refused + refused,
    )


def _rebuild(connection: Connection, growing: Iterable[str]) -> list[TraceRow]:
    rebuilt = []
    moment = now()
    for trace_id, rows in bare_spans(connection, growing).items():
        summary = summarise([facts_of(row, usable_facts(loads(row.metadata))) for row in rows])
        question, _ = texts_of(connection, trace_id, summary.input_from)
        _, answer = texts_of(connection, trace_id, summary.output_from)
        rebuilt.append(trace_row(trace_id, summary, (question, answer), moment))
    return rebuilt


def write_apart(connection: Connection, prepared: PreparedSpans, url: str) -> SpansWritten:
    """Store a request of those that failed together; one that fails by itself in halves, down to the record that is refused.

    Raises where the database itself fails.
    """
    for _ in range(CONTENDED_TRIES):
        try:
            with connection.begin_nested():
                return write_spans(connection, [prepared])[0]
        except Exception as failure:
            problem = explanation(url, failure) or failure
            if isinstance(problem, Unavailable):
                raise
            if not met_another_server(failure):
                break
    if len(prepared.rows) + len(prepared.scores) < 2:
        return SpansWritten(refused=[*prepared.refused, _refusal(prepared, problem)])
    return _sum([write_apart(connection, part, url) for part in _parts(prepared)])


def _parts(prepared: PreparedSpans) -> list[PreparedSpans]:
    """Halves of the spans, and the scores apart from them."""
    # Texts shared with the trace's row go back into the spans first: the halves get rows of their own.
    prepared.restore_texts(prepared.summaries)
    rows, scores = prepared.rows, prepared.scores
    some_rows = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    some_scores = [scores] if rows else [scores[: len(scores) // 2], scores[len(scores) // 2 :]]
    parts = [
        PreparedSpans(*summarise_spans([(row, usable_facts(loads(row.metadata))) for row in half]))
        for half in some_rows
        if half
    ]
    parts += [PreparedSpans(scores=half) for half in some_scores if half]
    # What was refused or cut before is counted once, with the first part.
    counts = {name: getattr(prepared, name) for name in ("refused", "cut", "ignored", "redacted")}
    return [replace(parts[0], **counts), *parts[1:]]


def _refusal(prepared: PreparedSpans, problem: BaseException) -> str:
    reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    for row in prepared.rows:
        return f"span {row.id} of trace {row.trace_id} cannot be stored: {reason}"
    for score in prepared.scores:
        return f"score {score.name!r} on trace {score.trace_id} cannot be stored: {reason}"
    return f"the request cannot be stored: {reason}"


def _sum(parts: Sequence[SpansWritten]) -> SpansWritten:
    """Add outcomes up; a trace that several parts began is new once."""
    total = SpansWritten()
    for part in parts:
        for name, value in vars(part).items():
            setattr(total, name, getattr(total, name) + value)
    return replace(total, new_traces=list(dict.fromkeys(total.new_traces)))


ENOUGH_SPANS = 300  # no further request joins those that have so many


@dataclass
class _Waiting:
    """Requests that will be written by the next job, each with the future its sender waits for."""

    requests: list[tuple[PreparedSpans, Future[SpansWritten]]] = field(default_factory=list)
    spans: int = 0
    tries: int = 1
    apart: bool = False  # they failed together, and each is to be written by itself

    def fail(self, problem: BaseException) -> None:
        for _, done in self.requests:
            if _is_running(done):
                done.set_exception(problem)


class Batcher:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._waiting: _Waiting | None = None
        self._recent = RecentSpans()

    def put(self, prepared: PreparedSpans, done: Future[SpansWritten]) -> None:
        """Hand a request to the writer; `done` is settled when it is committed or cannot be.

        A future that its caller cancels before the writer's turn takes its request out.
        """
        with self._lock:
            waiting = self._waiting
            # The first request of a batch submits the job; those that come before the writer reaches it join without
            # one.
            first = waiting is None or waiting.spans >= ENOUGH_SPANS
            if waiting is None or first:
                waiting = self._waiting = _Waiting()
            waiting.requests.append((prepared, done))
            waiting.spans += len(prepared.rows)
        # Outside the lock: a job that is refused, or ends at once, calls `_close`, which takes it.
        if first:
            self._submit(waiting)

    def _submit(self, waiting: _Waiting) -> None:
        try:
            job = self._store.db.submit(
                partial(self._write, waiting=waiting),
                alone=True,
                wanted=lambda: not all(done.cancelled() for _, done in waiting.requests),
            )
        except Unavailable as problem:
            self._close(waiting)
            waiting.fail(problem)
        else:
            job.add_done_callback(partial(self._resolve, waiting))

    def _close(self, waiting: _Waiting) -> None:
        """Let no further request join these."""
        with self._lock:
            if self._waiting is waiting:
                self._waiting = None

    def _write(self, connection: Connection, waiting: _Waiting) -> list[SpansWritten]:
        # From here on requests go into the next batch: this one is being read.
        self._close(waiting)
        waiting.requests = [(prepared, done) for prepared, done in waiting.requests if _is_running(done)]
        together = [prepared for prepared, _ in waiting.requests]
        if waiting.apart:
            return [write_apart(connection, prepared, self._store.db.url) for prepared in together]
        return write_spans(connection, together, self._recent)

    def _resolve(self, waiting: _Waiting, job: Future[list[SpansWritten]]) -> None:
        """Answer each sender. What failed together is written apart, unless the database itself failed.

        The writer may have failed before it came to `_write`, so these requests are closed here too: one that joined them
        later would wait for a job that has ended.
        """
        self._close(waiting)
        problem = job.exception()
        if problem is not None:
            # What was rolled back must not be referred to as stored.
            self._recent.clear()
        if problem is None:
            for (_, done), written in zip(waiting.requests, job.result(), strict=True):
                done.set_result(written)
        elif met_another_server(problem) and waiting.tries < CONTENDED_TRIES:
            # Another server wrote to the same traces; one of the two was undone, and can be written now.
            self._submit(replace(waiting, tries=waiting.tries + 1))
        elif isinstance(problem, Unavailable) or not isinstance(problem, Exception) or waiting.apart:
            waiting.fail(problem)
        else:
            self._submit(replace(waiting, apart=True))


def _is_running(done: Future[SpansWritten]) -> bool:
    """Mark a future as one that can no longer be cancelled; False when it was."""
    return done.running() or done.set_running_or_notify_cancel()
