"""Listing and searching a million traces: the 95th percentile of what the Traces page asks for.

    python -m perf.trace_search --traces 1000000
    python -m perf.trace_search --traces 2000000 --postgres --data FOLDER       # a PostgreSQL of its own

Limit: 100 ms. The rows are written straight into the tables, so the word index and every other index are the real ones; the
first 10,000 are read by the index as a server does it, and the words of the others are given to it.
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

from sqlalchemy import Connection, text

from evergold.model.trace import TraceStatus
from evergold.settings import Settings
from evergold.store.database.rows import dumps, insert_rows, loads
from evergold.store.schema import spans
from evergold.store.schema import traces as traces_table
from evergold.store.text_index import indexed_words
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
    *("seq", "id", "session_id", "user_id", "name", "input_text", "output_text", "status", "model", "started_at"),
    *("duration_ms", "tokens", "cost"),
)
STEPS = ("trace_seq", "id", "parent_id", "name", "kind", "input_text", "output_text", "metadata")
CHINESE = "我怎样取消订阅服务退款发票地址电话快递"
BATCH = 10_000


def fill(workspace: Workspace, traces: int) -> None:
    """Store traces of a question and an answer; each has a call of a tool, and each fifth an earlier turn in its messages."""
    source = random.Random(1)
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def row(number: int) -> tuple[str | float, ...]:
        question = f"{' '.join(source.choices(WORDS, k=20))} w{source.randrange(RARE)}"
        return (
            number + 1,
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

    def steps(number: int) -> list[tuple[str | int | None, ...]]:
        found = f"reembolso número {number % 997} t{source.randrange(RARE)} {' '.join(source.choices(WORDS, k=60))}"
        made: list[tuple[str | int | None, ...]] = [
            (number + 1, "tool", None, "look_up", "tool", f'{{"order":"o{number % 9973}"}}', found, "{}")
        ]
        if number % 5 == 0:
            asked = f"h{source.randrange(RARE)} {''.join(source.choices(CHINESE, k=8))} {' '.join(source.choices(WORDS, k=20))}"
            said = [{"role": "user", "content": asked}, {"role": "assistant", "content": "Yes."}]
            given = dumps({"messages": [*said, {"role": "user", "content": "And now?"}]})
            made.append((number + 1, "chat", None, "chat", "llm", None, None, given))
        return made

    db = workspace.store.db
    indexes = db.write(_drop_indexes) if db.dialect == "postgresql" else []
    for start in range(0, traces, BATCH):
        rows = [row(number) for number in range(start, min(start + BATCH, traces))]
        db.write(partial(insert_rows, table=traces_table, columns=COLUMNS, rows=rows))
        made = [step for number in range(start, start + len(rows)) for step in steps(number)]
        db.write(partial(insert_rows, table=spans, columns=STEPS, rows=made))
        if start == 0:
            began, spent = time.perf_counter(), time.process_time()
            workspace.intake.index()
            took, cpu = time.perf_counter() - began, (time.process_time() - spent) / len(rows) * 1e6
            print(f"  the first {len(rows)} indexed in {took:.0f} s, {cpu:.0f} µs of CPU a trace", flush=True)
        else:
            db.write(partial(_put_words, rows=rows, made=made))
    for statement in indexes:
        db.write(partial(_execute, statement=statement))


def _put_words(connection: Connection, rows: Sequence[Sequence[object]], made: Sequence[Sequence[object]]) -> None:
    """Give the index the words that it would read from these rows, which takes a fifth of the time."""
    texts: dict[object, list[str]] = {row[0]: [str(row[4]), str(row[5]), str(row[6])] for row in rows}
    for step in made:
        texts[step[0]] += [
            str(step[5] or ""),
            str(step[6] or ""),
            *(message["content"] for message in messages_of(step)),
        ]
    kind = "text" if connection.dialect.name == "sqlite" else "tsvector"
    insert = text(f"INSERT INTO trace_words (seq, words) VALUES (:seq, CAST(:words AS {kind}))")
    connection.execute(insert, [{"seq": seq, "words": " ".join(indexed_words(held))} for seq, held in texts.items()])
    connection.exec_driver_sql("DELETE FROM trace_words_due")


def messages_of(step: Sequence[object]) -> list[dict[str, str]]:
    return list(loads(str(step[7])).get("messages", ()))


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
    """What the Traces page asks for: lists by filter, sorted lists, pages of hits with their excerpts, facets."""

    def listed(make: Callable[[random.Random], TraceFilter], order: TraceOrder = TraceOrder.NEWEST) -> Ask:
        def ask(source: random.Random) -> None:
            wanted = make(source)
            page, _ = intake.page(wanted, limit=50, order=order, preview=500)
            hits = intake.hits(wanted, [trace.id for trace in page])
            assert len(hits) == len(page) * (wanted.search is not None), wanted

        return ask

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
        "rare word of a tool": lambda r: TraceFilter(search=f"t{r.randrange(RARE)}"),
        "arguments of a tool": lambda r: TraceFilter(search=f"o{r.randrange(9973)}"),
        "word of an earlier turn": lambda r: TraceFilter(search=f"h{r.randrange(RARE)}"),
        "Spanish, no accents": lambda r: TraceFilter(search=f"reembolso numero {r.randrange(997)}"),
        "common Spanish": lambda _: TraceFilter(search="REEMBOLSO"),
        "Chinese": lambda r: TraceFilter(search="".join(r.sample(CHINESE, 2))),
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
    settings.home.mkdir(exist_ok=True)
    began = time.perf_counter()
    with Workspace.open(settings) as workspace:
        fill(workspace, traces)
        print(f"  filled in {time.perf_counter() - began:.0f} s", flush=True)
        if settings.database_url:
            workspace.store.db.write(lambda connection: connection.exec_driver_sql("ANALYZE"))


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
