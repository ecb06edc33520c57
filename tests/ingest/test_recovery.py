"""Intake recovers: whatever fails between a request and its commit, every sender gets an answer and the next request works."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, text

from evergold.errors import Unavailable
from evergold.ingest.batcher import SpansWritten
from evergold.ingest.ingest import wait_for_commit
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.database import db as store_db
from evergold.store.database import engines
from evergold.store.database import engines as watch
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.otlp import a_span, protobuf_body
from tests.patience import PATIENCE

LOCK_TABLES = "LOCK TABLE traces, spans IN ACCESS EXCLUSIVE MODE"
FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON traces EXECUTE FUNCTION full_disk();
"""


@pytest.fixture
def workspace(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A workspace that is soon out of patience with its database."""
    for name in ("WRITE_LOCK_SECONDS", "PATIENT_SECONDS"):
        monkeypatch.setattr(store_db, name, 0.1)
    for name in ("WRITE_LOCK_SECONDS", "READ_LOCK_SECONDS", "POOL_SECONDS"):
        monkeypatch.setattr(engines, name, 0.1)
    monkeypatch.setattr(watch, "SUSPECT_SECONDS", 0.1)
    with Workspace.open(settings) as opened:
        yield opened


def on_sqlite(workspace: Workspace) -> bool:
    return workspace.store.db.dialect == "sqlite"


def send(workspace: Workspace, number: int) -> Future[SpansWritten]:
    attributes = {"input.value": f"word {number} " * 20_000}  # more than the pages of a new database hold
    body = protobuf_body(a_span(0, trace=f"{number + 1:032x}", attributes=attributes))
    return workspace.intake.receive_traces(body, Wire.PROTOBUF)


@contextmanager
def held(workspace: Workspace) -> Iterator[None]:
    """Another program holds the lock that a writer needs."""
    engine = create_engine(workspace.store.db.url)
    with engine.connect() as connection:
        connection.execute(text("BEGIN IMMEDIATE" if on_sqlite(workspace) else LOCK_TABLES))
        yield
        connection.rollback()
    engine.dispose()


@contextmanager
def full(workspace: Workspace) -> Iterator[None]:
    """The disk has no room."""
    if on_sqlite(workspace):
        with limited_pages(workspace, "1"):
            yield
        return
    with admin(workspace) as connection:
        connection.execute(text(FULL))
        yield
        connection.execute(text("DROP FUNCTION full_disk CASCADE"))


@contextmanager
def limited_pages(workspace: Workspace, pages: str) -> Iterator[None]:
    def limit(connection: Connection, number: str) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {number}")  # of this connection, which the writer keeps

    workspace.store.db.write(lambda connection: limit(connection, pages))
    yield
    workspace.store.db.write(lambda connection: limit(connection, "1073741823"))


@contextmanager
def admin(workspace: Workspace) -> Iterator[Connection]:
    engine = create_engine(workspace.store.db.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@contextmanager
def refused(workspace: Workspace) -> Iterator[None]:
    """The database accepts no connection and has ended those it had."""
    name = workspace.store.db.url.partition("?")[0].rsplit("/", 1)[1]
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name AND pid <> pg_backend_pid()"
    url = workspace.store.db.url.replace(f"/{name}", "/postgres")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
        connection.execute(text(others), {"name": name})
        yield
        connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))
    engine.dispose()


@contextmanager
def paused(workspace: Workspace) -> Iterator[None]:
    """The whole PostgreSQL stands still: SIGSTOP, as a frozen machine would be."""
    with admin(workspace) as connection:
        folder = connection.execute(text("SHOW data_directory")).scalar_one()
        backends = connection.execute(text("SELECT pid FROM pg_stat_activity")).scalars().all()
    pids = [int(Path(folder, "postmaster.pid").read_text().split()[0]), *backends]
    _signal(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(pids, signal.SIGCONT)


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


Fault = Callable[[Workspace], AbstractContextManager[None]]


def answers(futures: list[Future[Any]]) -> list[BaseException | None]:
    return [future.exception(PATIENCE) for future in futures]


@pytest.mark.parametrize("fault", [held, full, refused, paused], ids=lambda fault: str(fault.__name__))
def test_a_fault_of_the_database_is_answered_and_forgotten(workspace: Workspace, fault: Fault) -> None:
    if on_sqlite(workspace) and fault in (refused, paused):
        pytest.skip("SQLite has no server that refuses or pauses; the same test runs on PostgreSQL")
    assert send(workspace, 0).result(PATIENCE).spans == 1
    with fault(workspace):
        for begin in (1, 4):
            told = answers([send(workspace, number) for number in range(begin, begin + 3)])
            assert [type(problem) for problem in told] == [Unavailable] * 3, told
            assert all(str(problem).startswith("database ") and "; " in str(problem) for problem in told)
    assert send(workspace, 1).result(PATIENCE).spans == 1, "the next one is stored as ever"
    assert workspace.intake.count(TraceFilter()) == 2


@pytest.mark.parametrize("fault", [refused, paused], ids=lambda fault: str(fault.__name__))
def test_reading_ends_with_an_answer_too(workspace: Workspace, fault: Fault) -> None:
    if on_sqlite(workspace):
        pytest.skip("SQLite has no server that refuses or pauses; the same test runs on PostgreSQL")
    assert workspace.intake.count(TraceFilter()) == 0
    with fault(workspace), pytest.raises(Unavailable, match="database 'postgres"):
        workspace.intake.count(TraceFilter())
    assert workspace.intake.count(TraceFilter()) == 0


def test_a_writer_that_dies_is_replaced_and_its_requests_are_answered(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise SystemExit("killed")

    with monkeypatch.context() as patch:
        patch.setattr("evergold.store.database.db.WriterThread._commit", dies)
        assert isinstance(send(workspace, 0).exception(PATIENCE), SystemExit)
    assert send(workspace, 1).result(PATIENCE).spans == 1


def test_a_request_that_waits_too_long_is_answered_and_not_written(workspace: Workspace) -> None:
    go_on = threading.Event()
    held_up = workspace.store.db.submit(lambda _: go_on.wait(PATIENCE))

    async def sent() -> None:
        with pytest.raises(Unavailable, match="send it again later"):
            await wait_for_commit(send(workspace, 0), 0.01)

    asyncio.run(sent())
    go_on.set()
    assert held_up.result(PATIENCE)
    assert send(workspace, 1).result(PATIENCE).spans == 1
    assert workspace.intake.count(TraceFilter()) == 1


def test_a_server_that_ends_fails_what_still_waits(workspace: Workspace) -> None:
    go_on, begun = threading.Event(), threading.Event()

    def stuck(_: Connection) -> None:
        begun.set()
        go_on.wait(PATIENCE)

    under_way = workspace.store.db.submit(stuck)
    assert begun.wait(PATIENCE)
    waiting = send(workspace, 0)
    workspace.store.db.close_within(0.01)
    workspace.close()
    assert [type(problem) for problem in answers([under_way, waiting])] == [Unavailable, Unavailable]
    go_on.set()
