"""Intake into PostgreSQL beside a bare COPY, in one run: processor time for a span, of this process and of the database.

    python -m perf.postgres_intake                 # a PostgreSQL started for it
    python -m perf.postgres_intake --requests 200

100 LLM spans of about 3 KB a request, ten to a trace. The floor decodes a request, flattens its spans and copies them into one
plain table, one transaction for as many requests as Evergold joins. Evergold is the intake of a server without its HTTP: decoded,
redacted, understood, stored with summaries and word index. Processor time, since the machine may be shared; and by the clock how
long 300 spans take from their bytes to the commit, one batch after the other, where p99 should be at most twice the floor's.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import psycopg

from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.partitions import days
from evergold.workspace import Workspace
from perf.faults.postgres import NAME, own_database
from perf.otlp_floor import span_rows
from perf.otlp_load import SPANS, bodies

TOGETHER = 3  # requests that the batcher joins: it closes a batch at 300 spans
TICK = os.sysconf("SC_CLK_TCK")
TABLE = "CREATE TABLE floor (trace_id text, span_id text, parent text, name text, start bigint, stop bigint, attributes text)"
COPY = "COPY floor FROM STDIN"


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m perf.postgres_intake", description=__doc__)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--days", type=int, default=0, help="partitions of earlier days")
    chosen = parser.parse_args(arguments)
    warm, load = bodies(10, 10, seed=1), bodies(chosen.requests, 10, seed=2)
    with tempfile.TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True) as name:
        floor, ours = _both(Path(name), warm, load, chosen.days)
    for name, cost in (("floor (COPY)", floor), ("evergold", ours)):
        print(f"{name:14} {cost.here:6.1f} µs a span here, {cost.there:6.1f} µs in PostgreSQL, {cost.size:,.0f} bytes")
        print(f"{'':14} {cost.p50:6.1f} ms for {TOGETHER * SPANS} spans (p50), {cost.p99:6.1f} ms (p99)")
    share = (floor.here + floor.there) / (ours.here + ours.there)
    print(f"evergold: {share:.2f} of the floor by processor time of both; p99 {ours.p99 / floor.p99:.1f} times its")


def _both(folder: Path, warm: Sequence[bytes], load: Sequence[bytes], earlier: int) -> tuple["Cost", "Cost"]:
    with own_database(folder) as url, psycopg.connect(url, autocommit=True) as connection:
        floor = _measured(_floor(connection), warm, load, connection)
        with Workspace.open(Settings(home=folder / "home", database_url=url)) as workspace:
            begin_days(workspace, earlier)
            return floor, _measured(intake_of(workspace), warm, load, connection)


def begin_days(workspace: Workspace, count: int) -> None:
    """Begin so many days, each with a trace number of its own."""
    for day in range(count):
        workspace.store.db.write(
            lambda connection: connection.exec_driver_sql("SELECT nextval('traces_seq_seq')").close()
        )
        with patch.object(days, "todays_name", lambda _, day=day: f"spans_2999_{1 + day // 28:02}_{1 + day % 28:02}"):
            days.begin_today(workspace.store.db)


def _floor(connection: psycopg.Connection) -> Callable[[Sequence[bytes]], None]:
    connection.execute(TABLE)

    def store(some: Sequence[bytes]) -> None:
        with connection.transaction(), connection.cursor().copy(COPY) as copy:
            for body in some:
                for row in span_rows(body):
                    copy.write_row(row)

    return store


def intake_of(workspace: Workspace) -> Callable[[Sequence[bytes]], None]:
    def store(some: Sequence[bytes]) -> None:
        for written in [workspace.intake.receive_traces(body, Wire.PROTOBUF) for body in some]:
            written.result()

    return store


class Cost(NamedTuple):
    """What a span costs: microseconds of processor time of this process and of PostgreSQL, and bytes of the database.

    `p50` and `p99` are milliseconds by the clock for one batch.
    """

    here: float
    there: float
    size: float
    p50: float
    p99: float


def _measured(
    store: Callable[[Sequence[bytes]], None], warm: Sequence[bytes], load: Sequence[bytes], database: psycopg.Connection
) -> Cost:
    _store_all(store, warm)
    here, there, size = time.process_time(), postgres_seconds(), _size(database)
    clock = sorted(_store_all(store, load))
    spans = len(load) * SPANS
    took, took_there = time.process_time() - here, postgres_seconds() - there
    p50, p99 = (clock[int(len(clock) * share)] for share in (0.5, 0.99))
    return Cost(took / spans * 1e6, took_there / spans * 1e6, (_size(database) - size) / spans, p50, p99)


def _size(database: psycopg.Connection) -> int:
    return int((database.execute("SELECT pg_database_size(current_database())").fetchone() or (0,))[0])


def _store_all(store: Callable[[Sequence[bytes]], None], load: Sequence[bytes]) -> list[float]:
    """Store everything; the milliseconds that each batch took."""
    took = []
    for start in range(0, len(load), TOGETHER):
        began = time.perf_counter()
        store(load[start : start + TOGETHER])
        took.append((time.perf_counter() - began) * 1000)
    return took


def postgres_seconds(name: str = NAME) -> float:
    """Processor time of the processes of PostgreSQL that serve a database."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"postgres: ") and f" {name} ".encode() in path.read_bytes():
                fields = (path.parent / "stat").read_text().rsplit(")", 1)[1].split()
                total += int(fields[11]) + int(fields[12])
        except OSError:  # a process that ended meanwhile
            continue
    return total / TICK


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
