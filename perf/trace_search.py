"""Listing and searching a million traces: the 95th percentile of what the Traces page asks for.

    python -m perf.trace_search --traces 1000000
    python -m perf.trace_search --traces 2000000 --postgres --data FOLDER       # a PostgreSQL of its own

Limit: 100 ms. The rows are written straight into the tables, so the word index and every other index are the real ones.
`--data FOLDER` keeps the filled SQLite database there for the next time, and holds that of PostgreSQL until the end. The first
question is asked of a workspace just opened. CPU: of this process and of PostgreSQL, a question on average.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from evergold.model.trace import TraceStatus
from evergold.settings import Settings
from evergold.store.database.rows import insert_rows
from evergold.store.trace.filter import TraceFilter, TraceOrder
from evergold.workspace import Workspace
from evergold.workspace.intake import Intake
from perf.otlp_load import WORDS
from perf.postgres_intake import postgres_seconds
from tests.faults.postgres import own_database

LIMIT_MS = 100.0
NAME = "searched"  # the database in PostgreSQL, told from those of other campaigns that run meanwhile
RARE = 50_000  # distinct rare words
COLUMNS = (
    *("id", "session_id", "user_id", "name", "input_text", "output_text", "status", "model", "started_at"),
    *("duration_ms", "tokens", "cost"),
)
BATCH = 10_000


def fill(workspace: Workspace, traces: int) -> None:
    source = random.Random(1)
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def row(number: int) -> tuple[str | float, ...]:
        question = f"{' '.join(source.choices(WORDS, k=20))} w{source.randrange(RARE)}"
        return (
            f"{source.getrandbits(128):032x}",
            f"session-{number // 5}",
            f"user-{number % 10_000}",
            source.choice(("chat", "search", "plan")),
            question,
            " ".join(source.choices(WORDS, k=40)),
            "failed" if source.random() < 0.01 else "completed",
            source.choice(("small-1", "large-1")) if source.random() > 0.001 else "rare-1",
            (begin + timedelta(seconds=number)).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            source.randrange(100, 60_000),
            source.randrange(50, 9_000),
            round(source.random() / 10, 6),
        )

    db = workspace.store.db
    indexes = db.write(_drop_indexes) if db.dialect == "postgresql" else []
    for start in range(0, traces, BATCH):
        rows = [row(number) for number in range(start, min(start + BATCH, traces))]
        db.write(partial(insert_rows, table="traces", columns=COLUMNS, rows=rows))
    for statement in indexes:
        db.write(partial(_execute, statement=statement))


def _execute(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '1GB'")
    connection.exec_driver_sql(statement)


def _drop_indexes(connection: Connection) -> list[str]:
    """Drop the indexes that PostgreSQL would keep row by row, and give the statements that make them again."""
    held = connection.exec_driver_sql(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'traces' AND indexname NOT IN "
        "(SELECT conname FROM pg_constraint WHERE conrelid = 'traces'::regclass)"
    ).all()
    for name, _ in held:
        connection.exec_driver_sql(f"DROP INDEX {name}")
    return [statement for _, statement in held]


Ask = Callable[[random.Random], object]


def questions(intake: Intake, traces: int) -> dict[str, Ask]:
    """What the Traces page asks for: lists by filter, sorted lists, pages of hits, facets."""

    def listed(make: Callable[[random.Random], TraceFilter], order: TraceOrder = TraceOrder.NEWEST) -> Ask:
        return lambda source: intake.page(make(source), limit=50, order=order)

    lists = {
        "newest": lambda _: TraceFilter(),
        "status=failed": lambda _: TraceFilter(status=TraceStatus.FAILED),
        "rare model": lambda _: TraceFilter(model=("rare-1",)),
        "name": lambda _: TraceFilter(name=("plan",)),
        "session": lambda r: TraceFilter(session_id=f"session-{r.randrange(traces // 5)}"),
        "user": lambda r: TraceFilter(user_id=f"user-{r.randrange(10_000)}"),
        "slow and dear": lambda _: TraceFilter(took_min=59_000, cost_min=0.099),
        "rare word": lambda r: TraceFilter(search=f"w{r.randrange(RARE)}"),
        "common word": lambda r: TraceFilter(search=r.choice(WORDS)),
        "two common words": lambda r: TraceFilter(search=" ".join(r.sample(WORDS, 2))),
        "common and rare": lambda r: TraceFilter(search=f"{r.choice(WORDS)} w{r.randrange(RARE)}"),
        "beginning of a word": lambda r: TraceFilter(search=f"the w{r.randrange(100)}"),
        "word and failed": lambda r: TraceFilter(search=r.choice(WORDS), status=TraceStatus.FAILED),
    }
    sorts = (TraceOrder.OLDEST, TraceOrder.SLOWEST, TraceOrder.MOST_TOKENS, TraceOrder.DEAREST, TraceOrder.CHEAPEST)
    failed = TraceFilter(status=TraceStatus.FAILED)
    return {
        **{name: listed(make) for name, make in lists.items()},
        **{order.value: listed(lambda _: TraceFilter(), order) for order in sorts},
        "failed, slowest": listed(lambda _: failed, TraceOrder.SLOWEST),
        "best hits": listed(lambda r: TraceFilter(search=f"w{r.randrange(RARE)}"), TraceOrder.MATCH),
        "facets of all": lambda _: intake.facets(TraceFilter()),
        "facets of failed": lambda _: intake.facets(failed),
        "facets of a rare word": lambda r: intake.facets(TraceFilter(search=f"w{r.randrange(RARE)}")),
        "count of failed": lambda _: intake.count(failed),
    }


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--asks", type=int, default=40)
    parser.add_argument("--postgres", action="store_true", help="a PostgreSQL of its own instead of SQLite")
    parser.add_argument("--data", type=Path, help="an existing folder where the filled database is kept")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = (chosen.data or Path(folder)) / f"{chosen.traces}-to-search"
        settings = Settings(home=home)
        if chosen.postgres:
            room = stack.enter_context(tempfile.TemporaryDirectory(dir=chosen.data, ignore_cleanup_errors=True))
            settings = Settings(home=Path(folder), database_url=stack.enter_context(own_database(Path(room), NAME)))
        if chosen.postgres or not home.exists():
            prepare(settings, chosen.traces)
        ask(settings, chosen.traces, chosen.asks)


def prepare(settings: Settings, traces: int) -> None:
    """Fill the database, as far as intake and the database's own upkeep would have brought it."""
    began = time.perf_counter()
    settings.home.mkdir(exist_ok=True)
    with Workspace.open(settings) as workspace:
        fill(workspace, traces)
        workspace.intake.page(TraceFilter(search="words"), limit=1)  # learns them, as intake does on its way
        if settings.database_url:
            workspace.store.db.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
    print(f"  filled in {time.perf_counter() - began:.0f} s", flush=True)


def ask(settings: Settings, traces: int, asks: int) -> None:
    source = random.Random(2)
    slow = []
    with Workspace.open(settings) as workspace:
        intake = workspace.intake  # a server has it open before the first question comes
        began = time.perf_counter()
        intake.page(TraceFilter(), limit=50)
        print(f"  the first page of all  {(time.perf_counter() - began) * 1000:11.1f} ms")
        for name, question in questions(intake, traces).items():
            took, spent = [], cpu_seconds(settings)
            for _ in range(asks):
                began = time.perf_counter()
                question(source)
                took.append((time.perf_counter() - began) * 1000)
            took.sort()
            p95, cpu = took[int(len(took) * 0.95)], (cpu_seconds(settings) - spent) * 1000 / asks
            slow += [name] if p95 > LIMIT_MS else []
            print(
                f"  {name:<22} p50 {took[len(took) // 2]:7.1f} ms   p95 {p95:7.1f} ms   CPU {cpu:7.1f} ms", flush=True
            )
    print(f"  over {traces} traces; limit {LIMIT_MS:.0f} ms (p95); above it: {', '.join(slow) or 'none'}")


def cpu_seconds(settings: Settings) -> float:
    return time.process_time() + (postgres_seconds(NAME) if settings.database_url else 0.0)


if __name__ == "__main__":
    main(sys.argv[1:])
