"""Notice a PostgreSQL server that is paused or cut off, which no timeout of the driver covers.

A server that was stopped with SIGSTOP, or whose disk hangs, still accepts connections in its kernel: a statement waits for an
answer without end. So when a connection has been in use for some seconds, a new one is tried. If the server gives that one
no answer either, the connections in use are cut, and their callers get an error instead of waiting. A server that is
merely slow answers the new connection, if only by refusing it, and nothing is cut.
"""

import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DisconnectionError, SQLAlchemyError
from sqlalchemy.pool import NullPool

CONNECT_SECONDS = 3
SUSPECT_SECONDS = 2.0  # a connection in use for so long is a reason to ask
LOOK_SECONDS, REST_SECONDS = 0.5, 1.0  # between two looks, and after a server that answered
NO_ANSWER = "timeout expired"  # psycopg's words; every other refusal comes from a living server


class DatabaseWatch:
    """Watches the connections of some engines from their first use until it is closed."""

    def __init__(self, url: str, engines: Sequence[Engine]) -> None:
        self._probe = create_engine(
            make_url(url), connect_args={"connect_timeout": CONNECT_SECONDS}, poolclass=NullPool
        )
        self._in_use: dict[int, tuple[Any, float]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        for engine in engines:
            event.listen(engine, "checkout", partial(self._check_out, engine.dialect))
            for end in ("checkin", "invalidate", "close"):  # one that broke in use is never checked in
                event.listen(engine, end, self._check_in)

    def close(self) -> None:
        self._closing.set()
        self._probe.dispose()

    def disconnect(self, older_than: float = 0.0) -> None:
        """Cut every connection that has been in use for so many seconds; their callers get an error at once."""
        limit = time.monotonic() - older_than
        with self._lock:
            stuck = [connection for connection, since in self._in_use.values() if since <= limit]
        for connection in stuck:
            # A connection may be lost or closed by now, which each driver reports in its own way. Whatever one of them
            # raises, the others are cut too: a watch that ended here would leave their callers waiting for ever.
            # `dup`: the socket object may close its own descriptor, never the driver's.
            with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)

    def _check_out(self, dialect: Any, connection: Any, record: Any, _: Any) -> None:
        """Note a connection as in use, then ask whether it still works: what the pool's own ping does, but watched."""
        with self._lock:
            self._in_use[id(connection)] = (connection, time.monotonic())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="evergold-watch", daemon=True)
                self._thread.start()
        # A connection that was just made has answered already.
        if not record.fresh:
            try:
                dialect.do_ping(connection)
            except dialect.dbapi.Error as problem:
                self._check_in(connection, record)
                raise DisconnectionError(str(problem)) from problem  # the pool makes a new connection

    def _check_in(self, connection: Any, *_: Any) -> None:
        with self._lock:
            self._in_use.pop(id(connection), None)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_SECONDS):
            if not self._suspicious():
                continue
            if self._answers():
                self._closing.wait(REST_SECONDS)
            else:
                self.disconnect(SUSPECT_SECONDS)

    def _suspicious(self) -> bool:
        limit = time.monotonic() - SUSPECT_SECONDS
        with self._lock:
            return any(since <= limit for _, since in self._in_use.values())

    def _answers(self) -> bool:
        """Whether the server says anything at all to a new connection."""
        try:
            self._probe.connect().close()
        except SQLAlchemyError as problem:
            return NO_ANSWER not in str(problem).lower()
        return True
