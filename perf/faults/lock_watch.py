"""Watch which locks on the large tables of PostgreSQL keep others out, and for how long."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

EVERY_SECONDS = 0.02
# Modes that keep writers out; the last also keeps readers out. ROW EXCLUSIVE and weaker ones are those of everyday work.
HELD = """SELECT l.pid, c.relname, l.mode FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.granted AND c.relname IN ('traces', 'spans', 'spans_before', 'trace_scores', 'eval_dataset', 'curation_queue')
    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"""


class LockWatch:
    """The longest time that each such lock was seen held, to a fiftieth of a second."""

    def __init__(self) -> None:
        self.longest: dict[str, float] = {}
        self._since: dict[tuple[int, str, str], float] = {}

    def look(self, connection: psycopg.Connection) -> None:
        now = time.perf_counter()
        held = set(connection.execute(HELD).fetchall())
        self._since = {key: self._since.get(key, now) for key in held}
        for (_, table, mode), since in self._since.items():
            name = f"{mode} on {table}"
            self.longest[name] = max(self.longest.get(name, 0.0), now - since)

    def lines(self) -> list[str]:
        return [f"held for at most {seconds:.2f} s: {name}" for name, seconds in sorted(self.longest.items())]


@contextmanager
def locks_watched(url: str) -> Iterator[LockWatch]:
    watch, ended = LockWatch(), threading.Event()

    def run() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not ended.wait(EVERY_SECONDS):
                watch.look(connection)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()
