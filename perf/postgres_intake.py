"""Intake into PostgreSQL beside a bare COPY, in one run: processor time for a span, of this process and of the database.

    python -m perf.postgres_intake                 # a PostgreSQL started for it
    python -m perf.postgres_intake --requests 300
    python -m perf.postgres_intake --keyed         # beside a floor that stores no span twice
    python -m perf.postgres_intake --database postgresql://postgres@/empty?host=/tmp    # one that runs on this machine

100 LLM spans of about 3 KB a request, ten to a trace. The floor decodes a request, flattens its spans and copies them into one
plain table without a key or an index, three requests to a transaction. Evergold is the intake of a server without its HTTP:
decoded, redacted, understood, stored in two tables with keys, foreign keys, indexes, summaries and word index. Both take turns,
so that whatever else the machine does disturbs both.

First processor time, since the machine may be shared: requests come while earlier ones are written, as from several senders, so
that Evergold joins three to a transaction as well. Then by the clock how long 300 spans take from their bytes to the commit, one
batch after the other, where p99 should be at most twice the floor's.
"""

import argparse
import gc
import math
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from evergold.cli.serve import SWITCH_SECONDS, YOUNG_OBJECTS
from evergold.ingest.batcher import SpansWritten
from evergold.machine import share_heaps
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.database.engines import SESSIONS
from evergold.workspace import Workspace
from perf.otlp_floor import span_rows
from perf.otlp_load import SPANS, bodies
from tests.faults.postgres import NAME, own_database

TOGETHER = 3  # requests that the batcher joins: it closes a batch at 300 spans
BLOCK = 30  # requests of one turn
TICK = os.sysconf("SC_CLK_TCK")
PARENT = 1  # among the fields of /proc/PID/stat behind the name
TABLE = "CREATE TABLE floor (trace_id text, span_id text, parent text, name text, start bigint, stop bigint, attributes text{})"
KEY = ", PRIMARY KEY (trace_id, span_id)"
COPY = "COPY floor FROM STDIN"
FLOOR_SIZE = "pg_total_relation_size('floor')"
FLOOR, OURS = "floor", "evergold"

Store = Callable[[Sequence[bytes]], None]


@dataclass
class Contestant:
    """One of the two. `store` takes requests and returns when they are committed, `flow` when all of many are."""

    store: Store
    flow: Store
    sessions: str  # which sessions of PostgreSQL are its own
    size: str
    here: float = 0.0  # seconds of this process
    clock: list[float] = field(default_factory=list)  # milliseconds of each batch

    def take_many(self, some: Sequence[bytes]) -> None:
        began = time.process_time()
        self.flow(some)
        self.here += time.process_time() - began

    def take(self, some: Sequence[bytes]) -> None:
        began = time.perf_counter()
        self.store(some)
        self.clock.append((time.perf_counter() - began) * 1000)

    def percentile(self, share: float) -> float:
        """The shortest time in which that share of the batches was stored."""
        return sorted(self.clock)[math.ceil(len(self.clock) * share) - 1]


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.postgres_intake", description=__doc__)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--keyed", action="store_true", help="a floor that stores no span twice: with a primary key")
    parser.add_argument("--database", metavar="URL", help="an empty database of a PostgreSQL on this machine")
    chosen = parser.parse_args(arguments)
    # As `evergold serve` sets them.
    sys.setswitchinterval(SWITCH_SECONDS)
    share_heaps()
    with (
        tempfile.TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True) as name,
        _database(Path(name), chosen.database) as url,
        psycopg.connect(url, autocommit=True) as connection,
        Workspace.open(Settings(home=Path(name) / "home", database_url=url)) as workspace,
    ):
        floor, ours = _floor(connection, KEY if chosen.keyed else ""), intake_of(workspace)
        sessions, size = f"application_name LIKE '{SESSIONS}%'", f"pg_database_size(current_database()) - {FLOOR_SIZE}"
        contestants = {
            FLOOR: Contestant(floor, _one_by_one(floor), f"pid = {connection.info.backend_pid}", FLOOR_SIZE),
            OURS: Contestant(ours, _flow_of(workspace), sessions, size),
        }
        _take_turns(contestants, Contestant.take, bodies(12, 10, seed=1), TOGETHER)
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        _print_processor_time(contestants, connection, bodies(chosen.requests, 10, seed=2))
        _print_clock(contestants, bodies(chosen.requests, 10, seed=3))


@contextmanager
def _database(folder: Path, given: str | None) -> Iterator[str]:
    if given is not None:
        yield given
        return
    with own_database(folder) as url:
        yield url


def _print_processor_time(
    contestants: dict[str, Contestant], database: psycopg.Connection, load: Sequence[bytes]
) -> None:
    before = {name: _server(database, one) for name, one in contestants.items()}
    _take_turns(contestants, Contestant.take_many, load, BLOCK)
    spans, sums = len(load) * SPANS, {}
    for name, one in contestants.items():
        processor, size = (after - then for after, then in zip(_server(database, one), before[name], strict=True))
        here, there = one.here / spans * 1e6, processor / spans * 1e6
        sums[name] = here + there
        print(f"{name:10} {here:6.1f} µs a span here, {there:6.1f} µs in PostgreSQL, {size / spans:,.0f} bytes")
    print(f"evergold: {sums[FLOOR] / sums[OURS]:.2f} of the floor by processor time of both")


def _print_clock(contestants: dict[str, Contestant], load: Sequence[bytes]) -> None:
    for one in contestants.values():
        one.clock = []
    _take_turns(contestants, Contestant.take, load, TOGETHER)
    for name, one in contestants.items():
        p50, p99 = one.percentile(0.5), one.percentile(0.99)
        print(f"{name:10} {p50:6.1f} ms for {TOGETHER * SPANS} spans (p50), {p99:6.1f} ms (p99)")
    slower = contestants[OURS].percentile(0.99) / contestants[FLOOR].percentile(0.99)
    print(f"evergold: p99 {slower:.1f} times that of the floor")


def _take_turns(
    contestants: dict[str, Contestant],
    take: Callable[[Contestant, Sequence[bytes]], None],
    load: Sequence[bytes],
    size: int,
) -> None:
    for start in range(0, len(load), size):
        for one in contestants.values():
            take(one, load[start : start + size])


def _server(database: psycopg.Connection, one: Contestant) -> tuple[float, int]:
    """Processor time of a contestant's sessions, and its bytes."""
    own = f"datname = current_database() AND {one.sessions}"
    pids = database.execute(f"SELECT pid FROM pg_stat_activity WHERE {own}").fetchall()
    size = (database.execute(f"SELECT {one.size}").fetchone() or (0,))[0]
    return sum(_seconds(Path(f"/proc/{pid}")) for (pid,) in pids), int(size)


def _floor(connection: psycopg.Connection, key: str) -> Store:
    connection.execute(TABLE.format(key))

    def store(some: Sequence[bytes]) -> None:
        with connection.transaction(), connection.cursor().copy(COPY) as copy:
            for body in some:
                for row in span_rows(body):
                    copy.write_row(row)

    return store


def intake_of(workspace: Workspace) -> Store:
    def store(some: Sequence[bytes]) -> None:
        for written in [workspace.intake.receive_traces(body, Wire.PROTOBUF) for body in some]:
            written.result()

    return store


def _one_by_one(store: Store) -> Store:
    def flow(some: Sequence[bytes]) -> None:
        for start in range(0, len(some), TOGETHER):
            store(some[start : start + TOGETHER])

    return flow


def _flow_of(workspace: Workspace) -> Store:
    """Send as several senders do: while some requests are written, as many are read."""

    def flow(some: Sequence[bytes]) -> None:
        waiting: deque[Future[SpansWritten]] = deque()
        for body in some:
            if len(waiting) == 2 * TOGETHER:
                waiting.popleft().result()
            waiting.append(workspace.intake.receive_traces(body, Wire.PROTOBUF))
        for written in waiting:
            written.result()

    return flow


def postgres_seconds(name: str = NAME, postmaster: int | None = None) -> float:
    """Processor time of the processes of PostgreSQL that serve a database, of one server where several run."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            serves = path.read_bytes().startswith(b"postgres: ") and f" {name} ".encode() in path.read_bytes()
            if serves and postmaster in (None, int(_fields(path.parent)[PARENT])):
                total += _seconds(path.parent)
        except OSError:  # a process that ended meanwhile
            continue
    return total


def _seconds(process: Path) -> float:
    fields = _fields(process)
    return (int(fields[11]) + int(fields[12])) / TICK


def _fields(process: Path) -> list[str]:
    """What the kernel says of a process, behind its name."""
    return (process / "stat").read_text().rsplit(")", 1)[1].split()


if __name__ == "__main__":
    main(sys.argv[1:])
