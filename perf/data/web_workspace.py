"""A large workspace for the measurement of the pages: traces of a month with figures and scores, cases, one long conversation."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection

from evergold.model.case import Case, Provenance
from evergold.model.trace import Trace
from evergold.store.database.rows import batches, insert_rows
from evergold.store.text_index import learn_parts
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from perf.otlp_load import WORDS

TRACE_COLUMNS = (
    "id",
    "session_id",
    "user_id",
    "name",
    "input_text",
    "output_text",
    "status",
    "model",
    "started_at",
    "ended_at",
    "tags",
    "duration_ms",
    "tokens",
    "cost",
)
SCORE_COLUMNS = ("trace_id", "name", "value", "source", "key", "created_at")
NAMES = ("chat", "search", "plan", "summarise", "classify", "translate")
MODELS = ("small-1", "small-2", "large-1", "large-2", "rare-1")
WEIGHTS = (40, 30, 20, 10, 0.1)
CHECKS = ("grounded", "answers_question", "no_private_data")
RARE = 50_000
BATCH = 10_000
TEXTS = 20_000  # questions and answers, which repeat but for one rare word
DAYS = 30
TURNS, TURN_BYTES = 200, 25_000
LONG_TRACE, LONG_SESSION = "long-conversation", "long-session"


def fill(workspace: Workspace, traces: int, cases: int) -> None:
    """Write everything; the rows of traces go straight into the tables, and their indexes are made afterwards."""
    db = workspace.store.db
    indexes = db.write(_drop_indexes)
    for rows in batches(trace_rows(traces), BATCH):
        db.write(partial(insert_rows, table="traces", columns=TRACE_COLUMNS, rows=[trace for trace, _ in rows]))
        db.write(partial(insert_rows, table="trace_scores", columns=SCORE_COLUMNS, rows=[score for _, score in rows]))
    for statement in indexes:
        db.write(partial(_execute, statement=statement))
    workspace.intake.page(TraceFilter(search="words"), limit=1)  # learns them, as intake does on its way
    for some in batches(many_cases(cases), BATCH):
        workspace.cases.put(some)
    while db.write(learn_parts):  # as a server does at leisure
        pass
    workspace.intake.accept(long_conversations())


def _execute(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement)


def _drop_indexes(connection: Connection) -> list[str]:
    """Drop the indexes that SQLite would keep row by row, and give the statements that make them again."""
    held = connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('traces', 'trace_scores') AND sql <> ''"
    ).all()
    for name, _ in held:
        connection.exec_driver_sql(f"DROP INDEX {name}")
    return [statement for _, statement in held]


def trace_rows(traces: int) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Rows of traces, each with one score, the oldest first."""
    source = random.Random(1)
    texts = [(" ".join(source.choices(WORDS, k=20)), " ".join(source.choices(WORDS, k=40))) for _ in range(TEXTS)]
    begin, step = datetime.now(UTC) - timedelta(days=DAYS), timedelta(days=DAYS) / traces
    for number in range(traces):
        ident = f"{source.getrandbits(128):032x}"
        started = begin + number * step
        took = round(source.lognormvariate(6.8, 0.9))
        tokens = round(source.lognormvariate(6, 1))
        tags = '["beta"]' if number % 50 == 0 else "[]"
        question, answer = texts[source.randrange(TEXTS)]
        question = f"{question} w{source.randrange(RARE)}"
        trace = (ident, f"session-{number // 5}", f"user-{number % 10_000}", source.choice(NAMES), question, answer)
        status = "failed" if source.random() < 0.01 else "completed"
        model = source.choices(MODELS, WEIGHTS)[0]
        times = _written(started), _written(started + timedelta(milliseconds=took))
        value = 0.1 if source.random() < 0.03 else 1.0
        score = (ident, source.choice(CHECKS), value, "system", f"check-{number}", times[0])
        yield (*trace, status, model, *times, tags, took, tokens, tokens * 2e-6), score


def many_cases(cases: int) -> Iterator[Case]:
    source = random.Random(2)
    for number in range(cases):
        yield Case(
            id=f"case-{number}",
            dataset=f"dataset-{number % 5}",
            input=f"{' '.join(source.choices(WORDS, k=20))} w{source.randrange(RARE)}",
            output=" ".join(source.choices(WORDS, k=40)),
            expected=" ".join(source.choices(WORDS, k=40)),
            tags=(f"t{number % 7}",),
            provenance=Provenance(session_id=f"session-{number}"),
        )


def long_conversations() -> Iterator[Trace]:
    """A trace of 200 messages and 5 MB, and a session of as many turns and bytes."""
    source = random.Random(3)

    def text() -> str:
        return " ".join(source.choices(WORDS, k=TURN_BYTES // 5))

    now = datetime.now(UTC)
    messages = [{"role": ("user", "assistant")[turn % 2], "content": text()} for turn in range(TURNS)]
    yield Trace(id=LONG_TRACE, name="long", input=json.dumps(messages), output="Done.", started_at=now, ended_at=now)
    for turn in range(TURNS):
        at = now - timedelta(minutes=TURNS - turn)
        yield Trace(
            id=f"{LONG_SESSION}-{turn}",
            session_id=LONG_SESSION,
            input=f"Question {turn}",
            output=text(),
            started_at=at,
            ended_at=at,
        )


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
