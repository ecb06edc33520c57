"""Reading requests in a second process, so that two cores share the work of intake.

Decoding, understanding and redacting a span is Python, and so is writing it: in one process they take turns at one core.
While many requests come at once, a second process reads and this one only writes. It is started when that first happens,
so that a server with little to do costs no more than it did, and ended when it has been silent for a while.

    take(request) ─► waiting ─► [sending thread] ═══ socket ═══► reader_process
    Future[Arrivals] ◄───────── [reading thread] ◄══ socket ════

Everything that is on its way is also in `waiting`, in the order it was sent, until its answer is here. So nothing can be
lost, nor stored twice: if the process dies, or says nothing for `PATIENCE`, or hands a request back, the request is read
here, by the same code. On a machine with one core, and where a process cannot be started, all of them are. The process
holds the only other end of the socket and ends when this one is closed, however this server ends.
"""

import logging
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from selectors import EVENT_READ, DefaultSelector
from typing import NamedTuple

from evergold.ingest.decode import ReadingRules, Request
from evergold.ingest.prepare import PreparedSpans
from evergold.ingest.reading_process.process import introduce, receive, send_request, unpacked

PATIENCE = 5.0  # seconds a request waits for the process before it counts as hanging: less than its sender waits for us
IDLE_SECONDS = 30.0  # without a request, after which the process is not needed; it may take as long to begin
BUSY = 2  # requests that are under way before it is worth a process
SMALLEST, LARGEST = 16_000, 1 << 20  # a smaller body is read sooner than sent; a larger one would hold up the others
MANY, MOST_WAITING = 8, 64  # when many wait for it, and more than for the writer, this process lends a hand
MOST_FAILURES = 3

log = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    """A request that is being read, and the future of whoever asked."""

    request: Request
    done: Future[PreparedSpans]
    since: float


class Reader:
    """`read_here` reads a request in this process; `enabled` false leaves everything to it.

    `patience` is how long a request waits for the process once that has begun.
    """

    def __init__(
        self,
        rules: ReadingRules,
        read_here: Callable[[Request], PreparedSpans],
        *,
        enabled: bool = True,
        patience: float = PATIENCE,
    ) -> None:
        self._rules = rules
        self._read_here = read_here
        self._patience = patience
        self._enabled = enabled
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._outbox: SimpleQueue[Request | None] | None = None  # there while requests are taken
        self._waiting: deque[_Waiting] = deque()
        self._failures = 0

    def take(self, request: Request, under_way: int) -> Future[PreparedSpans] | None:
        """Have a request read; None when it is for the caller to read. `under_way`: others that have no answer yet."""
        if not self._enabled or not SMALLEST <= len(request.body) <= LARGEST:
            return None
        with self._lock:
            if self._outbox is None:
                if self._thread is None and under_way >= BUSY:
                    self._thread = threading.Thread(target=self._serve, name="evergold-reader", daemon=True)
                    self._thread.start()
                return None
            waiting = len(self._waiting)
            if waiting >= MOST_WAITING or (waiting >= MANY and 2 * waiting > under_way):
                return None
            done: Future[PreparedSpans] = Future()
            self._waiting.append(_Waiting(request, done, time.monotonic()))
            self._outbox.put(request)
            return done

    @property
    def pid(self) -> int | None:
        """The reading process, while requests are taken."""
        return self._process.pid if self._process is not None and self._outbox is not None else None

    def close(self) -> None:
        """End the process. What waits for it is read here first."""
        with self._lock:
            self._enabled = False
            thread = self._thread
            if self._process is not None:
                self._process.kill()
        if thread is not None:
            thread.join()

    def _serve(self) -> None:
        """The life of one reading process."""
        outbox: SimpleQueue[Request | None] = SimpleQueue()
        channel, theirs = socket.socketpair()
        channel.settimeout(IDLE_SECONDS)
        sending = threading.Thread(target=_send_all, args=(channel, outbox), name="evergold-to-reader", daemon=True)
        with channel:
            sending.start()
            try:
                with theirs, _started(theirs) as process:
                    self._greet(process, channel)
                    channel.settimeout(self._patience)
                    with self._lock:
                        self._outbox = outbox
                    self._receive_answers(channel)
            except Exception as problem:  # whatever it was, those that wait are read here
                left = self._end(problem)
            outbox.put(None)
            sending.join()
        for waiting in left:
            self._read(waiting)
        with self._lock:
            self._thread = None

    def _greet(self, process: "subprocess.Popen[bytes]", channel: socket.socket) -> None:
        with self._lock:
            self._process = process
            if not self._enabled:
                raise EOFError("closed before it began")
        introduce(channel, self._rules)
        receive(channel)

    def _receive_answers(self, channel: socket.socket) -> None:
        """Receive answers until a request has waited too long, or none came for a while: TimeoutError."""
        with DefaultSelector() as selector:
            selector.register(channel, EVENT_READ)
            idle_until = time.monotonic() + IDLE_SECONDS
            while True:
                with self._lock:
                    until = self._waiting[0].since + self._patience if self._waiting else idle_until
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError("no answer in time" if self._waiting else "nothing to read")
                if selector.select(min(left, self._patience)):
                    self._receive_answer(receive(channel))
                    idle_until = time.monotonic() + IDLE_SECONDS

    def _receive_answer(self, answer: bytearray) -> None:
        with self._lock:
            waiting = self._waiting.popleft()
        try:
            prepared = unpacked(answer)
        except (EOFError, ValueError, TypeError):
            self._read(waiting)
        else:
            waiting.done.set_result(prepared)

    def _read(self, waiting: _Waiting) -> None:
        try:
            prepared = self._read_here(waiting.request)
        except Exception as problem:
            waiting.done.set_exception(problem)
        else:
            waiting.done.set_result(prepared)

    def _end(self, problem: Exception) -> list[_Waiting]:
        """Take no more requests; those that are left. Being silent with nothing to do is no failure."""
        with self._lock:
            failed = self._outbox is None or bool(self._waiting)
            left = list(self._waiting)
            self._waiting.clear()
            self._outbox = self._process = None
            if self._enabled and failed:
                log.warning("the process that reads requests ended (%r); they are read in the server", problem)
            self._failures += failed
            self._enabled = self._enabled and self._failures < MOST_FAILURES
        return left


@contextmanager
def _started(theirs: socket.socket) -> Iterator["subprocess.Popen[bytes]"]:
    """A reading process at the other end of a socket. On the way out it is killed, which can hurt nothing."""
    command = [sys.executable, "-P", "-m", "evergold.ingest.reading_process.process"]
    process = subprocess.Popen(command, stdin=theirs.fileno(), start_new_session=True)  # Ctrl-C is for the server
    theirs.close()
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _send_all(channel: socket.socket, outbox: "SimpleQueue[Request | None]") -> None:
    """Send until told to stop; if the other end is gone, whoever receives hears of it."""
    while (request := outbox.get()) is not None:
        try:
            send_request(channel, request)
        except OSError:
            return
