"""A writer waits for SQLite's lock, says so, and after too long names who holds it."""

import logging
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, text

from evergold.api.app import create_app
from evergold.cli import options
from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.database import db
from evergold.store.database import db as sqlite_lock
from evergold.workspace import Workspace

HOLDER = """import sqlite3, sys
connection = sqlite3.connect(sys.argv[-1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
connection.execute("COMMIT")
"""
FACT = text("INSERT INTO workspace_facts (name, value) VALUES (:name, 'x')")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    Store.open(Settings(home=tmp_path)).close()
    return tmp_path / "evergold.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    opened = Store.open(Settings(home=file.parent))
    yield opened
    opened.close()


def note(name: str, connection: Connection) -> None:
    connection.execute(FACT, {"name": name})


def noted(store: Store) -> set[str]:
    with store.db.read() as connection:
        return set(connection.execute(text("SELECT name FROM workspace_facts")).scalars())


@contextmanager
def held(file: Path) -> Iterator[sqlite3.Connection]:
    """Another connection holds the lock for writing; it may be released before the end."""
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def release_when_told(other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Release the lock as soon as a waiting writer logs that it waits; the lines that it logged."""
    lines: list[str] = []

    class Released(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if not lines:
                other.execute("COMMIT")
            lines.append(record.getMessage())

    monkeypatch.setattr(sqlite_lock, "ASK_SECONDS", 0.05)
    monkeypatch.setattr(sqlite_lock.log, "handlers", [Released()])
    monkeypatch.setattr(sqlite_lock.log, "propagate", False)
    return lines


@pytest.mark.parametrize("verb", ["write", "rewrite"])
def test_every_way_to_write_waits_and_logs_it(
    file: Path, store: Store, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    with held(file) as other:
        lines = release_when_told(other, monkeypatch)
        if verb == "rewrite":
            store.db.rewrite()
        else:
            store.db.write(lambda connection: note("n", connection))
            assert "n" in noted(store)
    assert lines[0].startswith("waiting for the database, locked by ")


def test_opening_an_older_workspace_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(tmp_path / "evergold.db") as other:
        other.execute("CREATE TABLE other (id)")
        other.execute("COMMIT")
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        lines = release_when_told(other, monkeypatch)
        with Workspace.open(Settings(home=tmp_path)) as workspace:
            assert workspace.live.trace_count() == 0
    assert lines


@pytest.mark.skipif(not sqlite_lock.LOCKS.exists(), reason="this system lists no locks")
def test_a_wait_that_is_too_long_names_the_process_and_the_same_write_works_later(
    file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.db._lock.seconds = 0.1
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    with pytest.raises(Unavailable) as problem:
        store.db.write(lambda connection: note("n", connection))
    process.communicate("")
    assert f"process {process.pid};" in problem.value.message and "\n" not in problem.value.message
    assert str(file) in problem.value.message and "HOLDER" not in problem.value.message
    assert "n" not in noted(store)
    store.db.write(lambda connection: note("n", connection))
    assert "n" in noted(store)


def test_arguments_of_the_holder_are_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    shm = tmp_path / "a.db-shm"
    shm.touch()
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()", "--token=geheim"], stdin=subprocess.PIPE, text=True
    )
    listed = tmp_path / "locks"
    listed.write_text(
        f"1: POSIX  ADVISORY  READ 1 fd:01:{shm.stat().st_ino} 124 124\n"
        f"1: -> POSIX  ADVISORY  WRITE 2 fd:01:{shm.stat().st_ino} 120 120\n"
        f"2: FLOCK  ADVISORY  WRITE 3 fd:01:{shm.stat().st_ino} 0 EOF\n"
        f"3: POSIX  ADVISORY  WRITE {process.pid} fd:01:{shm.stat().st_ino} 120 120\n"
    )
    monkeypatch.setattr(sqlite_lock, "LOCKS", listed)
    shown = sqlite_lock.lock_holder(file)
    process.communicate("")
    assert str(process.pid) in shown and "geheim" not in shown and "import" not in shown
    listed.write_text(f"3: POSIX  ADVISORY  WRITE -1 fd:01:{shm.stat().st_ino} 120 120\n")
    assert sqlite_lock.lock_holder(file) == sqlite_lock.UNKNOWN


def test_a_server_answers_soon_though_a_command_would_wait(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "WRITE_LOCK_SECONDS", 0.1)
    settings = Settings(home=file.parent, eval_auto_curate=False)
    with TestClient(create_app(settings), base_url="http://localhost") as client, held(file) as other:
        reply = client.post("/api/v1/traces", json={"id": "t1", "input": "What?"})
        assert reply.status_code == 503 and "was locked for 0.1 s by " in reply.text
        other.execute("ROLLBACK")
        assert client.post("/api/v1/traces", json={"id": "t1", "input": "What?"}).status_code == 201


def test_ctrl_c_gives_up_what_waits_for_the_lock(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "LAST_SECONDS", 0.01)
    ctx = click.Context(click.Command("x"), obj={"home": str(file.parent)})
    Workspace.open(Settings(home=file.parent)).close()
    other = sqlite3.connect(file, isolation_level=None)
    with pytest.raises(KeyboardInterrupt), options.open_workspace(ctx) as workspace:
        other.execute("BEGIN IMMEDIATE")
        waiting = workspace.store.db.submit(lambda connection: note("n", connection))
        raise KeyboardInterrupt
    other.close()
    assert isinstance(waiting.exception(), Unavailable)
