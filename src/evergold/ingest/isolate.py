"""Find the record that cannot be stored, so that the others of its request are.

Every known fault of a record is refused before the writer's turn. This is for the unknown ones: a request that fails by itself,
though the database works, is written again in halves until what fails is one record, which is then refused by name.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace

from evergold.ingest.prepare import PreparedSpans
from evergold.ingest.summarise import SpanWithFacts, summarise_spans, usable_facts
from evergold.ingest.write_spans import SpansWritten
from evergold.store.rows import SpanRow
from evergold.store.values import loads

Put = Callable[[PreparedSpans, Future[SpansWritten]], None]


def write_in_parts(prepared: PreparedSpans, done: Future[SpansWritten], problem: BaseException, put: Put) -> None:
    """Write a request that failed as a whole; `put` writes a part of it. `done` gets what became of all parts."""
    if len(prepared.rows) + len(prepared.scores) < 2:
        done.set_result(SpansWritten(refused=[*prepared.refused, _refusal(prepared, problem)]))
        return
    parts = _parts(prepared)
    written: list[SpansWritten] = []
    lock = threading.Lock()

    def collect(part: Future[SpansWritten]) -> None:
        failure = part.exception()
        with lock:
            written.append(SpansWritten() if failure is not None else part.result())
            last = len(written) == len(parts)
        if failure is not None and not done.done():
            done.set_exception(failure)
        elif last and not done.done():
            done.set_result(_sum(written))

    for part in parts:
        future: Future[SpansWritten] = Future()
        # The parts belong to a request that can no longer be cancelled, so neither can they.
        future.set_running_or_notify_cancel()
        future.add_done_callback(collect)
        put(part, future)


def _parts(prepared: PreparedSpans) -> list[PreparedSpans]:
    """Halves of the spans, and the scores apart from them."""
    # Texts shared with the trace's row go back into the spans first: the halves get rows of their own.
    prepared.whole(prepared.summaries)
    rows, scores = prepared.rows, prepared.scores
    some_rows = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    some_scores = [scores] if rows else [scores[: len(scores) // 2], scores[len(scores) // 2 :]]
    parts = [PreparedSpans(*summarise_spans([_with_facts(row) for row in half])) for half in some_rows if half]
    parts += [PreparedSpans(scores=half) for half in some_scores if half]
    # What was refused or cut before is counted once, with the first part.
    counts = {name: getattr(prepared, name) for name in ("refused", "cut", "ignored", "redacted")}
    return [replace(parts[0], **counts), *parts[1:]]


def _with_facts(row: SpanRow) -> SpanWithFacts:
    return row, usable_facts(loads(row.metadata))


def _refusal(prepared: PreparedSpans, problem: BaseException) -> str:
    reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    for row in prepared.rows:
        return f"span {row.id} of trace {row.trace_id} cannot be stored: {reason}"
    for score in prepared.scores:
        return f"score {score.name!r} on trace {score.trace_id} cannot be stored: {reason}"
    return f"the request cannot be stored: {reason}"


def _sum(parts: Sequence[SpansWritten]) -> SpansWritten:
    total = SpansWritten()
    for part in parts:
        total.spans += part.spans
        total.new_traces += [trace_id for trace_id in part.new_traces if trace_id not in total.new_traces]
        total.scores += part.scores
        total.duplicates += part.duplicates
        total.cut += part.cut
        total.refused += part.refused
    return total
