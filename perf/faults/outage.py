"""outage: the database is locked or full while requests come; each is answered, the next works, the server ends.

SQLite: a lock held by another program, and a limit on the size of files, which is what a full disk looks like.
"""

import random
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from perf.faults.server import JSON, Server, Summary, a_request
from perf.faults.stored import check_stored

SENDERS = 6


@contextmanager
def locked(home: Path, _: Server) -> Iterator[None]:
    connection = sqlite3.connect(home / "evergold.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


@contextmanager
def full(home: Path, server: Server) -> Iterator[None]:
    assert server.process is not None
    before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)


def run(home: Path, rounds: int, seed: int) -> Summary:
    source = random.Random(seed)
    summary = Summary()
    server = Server(home)
    server.start()
    for number in range(rounds):
        for fault in (locked, full):
            with fault(home, server):
                _together(lambda: _one(server, source, summary))
            time.sleep(0.1)
            if _one(server, source, summary) != "200":
                summary.notes.append(f"round {number}: no recovery after {fault.__name__}")
        summary.memory_mb.append(server.memory_mb())
    with locked(home, server):
        waiting = threading.Thread(target=_one, args=(server, source, summary))
        waiting.start()
        waiting.join()
        summary.notes.append(f"SIGTERM while the database is locked: ended in {server.end():.1f} s")
    check_stored(home, "", summary)
    return summary


def _one(server: Server, source: random.Random, summary: Summary) -> str:
    ids = [f"{source.getrandbits(128) | 1:032x}" for _ in range(5)]
    status = server.post("/v1/traces", a_request(ids, "word " * 3000), JSON, summary)
    if status == "200":
        summary.acknowledged.update(ids)
    return status


def _together(send: Callable[[], object]) -> None:
    threads = [threading.Thread(target=send) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
