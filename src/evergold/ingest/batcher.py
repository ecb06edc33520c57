"""Requests that wait for the writer are written together, so many at a time.

While one transaction commits, the next requests arrive. Written one by one, each would cost its own dozen statements, and before
and after each of those the writer waits for the interpreter; together they cost as many as one. Were all that wait taken at once,
the senders would wait for the last of them, sending nothing, and the reading of requests would stand still meanwhile.
"""

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection

from evergold.errors import Unavailable
from evergold.ingest.prepare import PreparedSpans
from evergold.ingest.write_spans import SpansWritten, write_spans
from evergold.store import Store

ENOUGH_SPANS = 300  # no further request joins those that have so many


@dataclass
class _Waiting:
    """Requests that will be written by the next job, each with the future its sender waits for."""

    prepared: list[PreparedSpans] = field(default_factory=list)
    futures: list[Future[SpansWritten]] = field(default_factory=list)
    spans: int = 0


class Batcher:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._waiting: _Waiting | None = None

    def put(self, prepared: PreparedSpans, done: Future[SpansWritten]) -> None:
        """Hand a request to the writer; `done` is told when it is committed."""
        with self._lock:
            waiting = self._waiting
            first = waiting is None or waiting.spans >= ENOUGH_SPANS
            if waiting is None or first:
                waiting = self._waiting = _Waiting()
            waiting.prepared.append(prepared)
            waiting.futures.append(done)
            waiting.spans += len(prepared.rows)
        if first:
            self._submit(waiting)

    def _submit(self, waiting: _Waiting) -> None:
        try:
            job = self._store.db.submit(partial(self._write, waiting=waiting), alone=True)
        except Unavailable as problem:
            self._begin_anew(waiting)
            for done in waiting.futures:
                done.set_exception(problem)
        else:
            job.add_done_callback(partial(self._resolve, waiting))

    def _begin_anew(self, waiting: _Waiting) -> None:
        with self._lock:
            if self._waiting is waiting:
                self._waiting = None

    def _write(self, connection: Connection, waiting: _Waiting) -> list[SpansWritten]:
        self._begin_anew(waiting)
        return write_spans(connection, waiting.prepared)

    def _resolve(self, waiting: _Waiting, job: Future[list[SpansWritten]]) -> None:
        """Tell each sender what became of its request. If they failed together, each is tried by itself."""
        problem = job.exception()
        if problem is None:
            for done, written in zip(waiting.futures, job.result(), strict=True):
                done.set_result(written)
        elif len(waiting.futures) == 1:
            waiting.futures[0].set_exception(problem)
        else:
            for prepared, done in zip(waiting.prepared, waiting.futures, strict=True):
                self._submit(_Waiting([prepared], [done]))
