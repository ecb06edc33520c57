"""Read OTLP requests in a second process while several are under way.

Reading a span and writing it take about as long, and in one process both share one core. The second process decides
nothing and keeps nothing: when it dies, the requests that it was given are read in the server. It starts when requests
come faster than they are stored and ends when none has come for a while, so that a quiet server is one process.
"""

import threading
import time
from concurrent.futures import BrokenExecutor, Future
from typing import TYPE_CHECKING

from evergold.ingest.prepare import PreparedSpans, Request, RequestReader
from evergold.settings import Settings
from evergold.spread import begin_worker

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

SIZES = range(16_000, 1 << 20)  # smaller: sending costs more than reading; larger: one at a time, to bound memory
BUSY = 3  # requests under way at once
IDLE_SECONDS = 30.0

_reader: RequestReader | None = None  # of the second process


class SecondReader:
    """Start, use and end the second process."""

    def __init__(self, settings: Settings, reader: RequestReader) -> None:
        self._settings = settings
        self._reader = reader
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._started: Future[None] | None = None
        self._last_used = 0.0

    def read(self, request: Request, under_way: int) -> Future[PreparedSpans] | None:
        """Read a request in the second process; None where the caller is to read it, of `under_way` requests at once."""
        if len(request.body) not in SIZES:
            return None
        with self._lock:
            self._last_used = time.monotonic()
            if self._pool is None and under_way >= BUSY:
                self._start()
            if self._pool is None or self._started is None or not self._started.done():
                return None
            try:
                there = self._pool.submit(_read, request)
            except BrokenExecutor:
                self._end()
                return None
        read: Future[PreparedSpans] = Future()
        there.add_done_callback(lambda done: self._settle(request, done, read))
        return read

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._end()

    def _settle(self, request: Request, there: Future[PreparedSpans], read: Future[PreparedSpans]) -> None:
        try:
            try:
                read.set_result(there.result())
            except BrokenExecutor:
                self.close()
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
        self._end_later(IDLE_SECONDS)

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._pool = self._started = None

    def _end_later(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._end_if_idle)
        timer.daemon = True
        timer.start()

    def _end_if_idle(self) -> None:
        with self._lock:
            rest = self._last_used + IDLE_SECONDS - time.monotonic()
            if rest <= 0:
                self._end()
            elif self._pool is not None:
                self._end_later(rest)


def _begin(settings: Settings) -> None:
    global _reader
    begin_worker()
    _reader = RequestReader(settings)


def _finish_start() -> None:
    """Run in the second process when it is ready."""


def _read(request: Request) -> PreparedSpans:
    assert _reader is not None
    return _reader.read(request)
