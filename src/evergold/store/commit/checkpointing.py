"""The log of SQLite is copied into the database beside the writer, not by it.

SQLite copies its write-ahead log when it has grown long enough, at the end of the commit that made it so: whoever waits for that
commit waits until some thousand pages are written and on the disk. A connection of its own can do the same while the writer goes
on. It copies what is committed when it begins; the writer, which alone can begin the log anew, finds little left to copy when
its own turn comes (`wal_autocheckpoint`). If this fails nothing is lost: the log stays until somebody has copied it.
"""

import logging
import sqlite3
import threading

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

OFTEN = 8  # large transactions between two copies: about 16 MB of spans

log = logging.getLogger(__name__)


class Checkpointing:
    """`engine`: connections for the copying; None where there is no log to copy."""

    def __init__(self, engine: Engine | None) -> None:
        self._engine = engine
        self._since = 0
        self._wanted = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None

    def wrote_much(self) -> None:
        """Called by the writer after each large transaction."""
        self._since += 1
        if self._engine is None or self._since < OFTEN:
            return
        self._since = 0
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="evergold-checkpoint", daemon=True)
            self._thread.start()
        self._wanted.set()

    def close(self, patience: float | None = None) -> None:
        """Copy once more and end; called when the writer has ended. `patience`: for so many seconds at most."""
        self._closing = True
        if self._thread is not None:
            self._wanted.set()
            self._thread.join(patience)

    def _run(self) -> None:
        last = False
        while not last:
            self._wanted.wait()
            # Cleared before the copying: a request that comes during it causes another round.
            self._wanted.clear()
            last = self._closing
            try:
                self._copy()
            except (sqlite3.Error, SQLAlchemyError) as problem:
                log.warning("the log could not be copied into the database (%s); it will be tried again", problem)

    def _copy(self) -> None:
        assert self._engine is not None
        connection = self._engine.raw_connection()
        try:
            # PASSIVE waits for nobody: it copies as far as readers allow and leaves the rest for the next time.
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").close()
        finally:
            connection.close()
