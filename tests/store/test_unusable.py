"""A database that cannot be used (locked, damaged, read-only, no database at all) is one line with what to do, everywhere."""

import ctypes
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from evergold.api.app import create_app
from evergold.cli import root
from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.database import db as store_db
from evergold.store.database import engines
from evergold.workspace import Workspace
from tests.builders import a_trace
from tests.patience import PATIENCE

VERBS = [
    *(["serve", "--port", "0"], ["traces", "list"], ["stats"], ["curate"], ["ingest", "t.jsonl"], ["cases", "list"]),
    *(
        ["datasets", "list"],
        ["runs", "list"],
        ["tokens", "list"],
        ["export", "live"],
        ["backup", "b"],
        ["check-traces"],
    ),
]
ROUTES = [
    *(("GET", "/api/v1/traces"), ("POST", "/api/v1/traces"), ("GET", "/api/v1/cases"), ("GET", "/api/v1/datasets")),
    *(("GET", "/api/v1/benchmarks/runs"), ("GET", "/api/v1/traces/t1"), ("GET", "/api/v1/stats/overview")),
]
Fault = Callable[[Path], AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("WRITE_LOCK_SECONDS", "PATIENT_SECONDS"):
        monkeypatch.setattr(store_db, name, 0.1)
    for name in ("WRITE_LOCK_SECONDS", "READ_LOCK_SECONDS", "POOL_SECONDS"):
        monkeypatch.setattr(engines, name, 0.1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text('{"id": "t1", "input": "What?"}\n')


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program keeps the whole file to itself."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    yield
    connection.close()


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    yield


@contextmanager
def no_database(path: Path) -> Iterator[None]:
    path.write_text("notes " * 1000)
    yield


@contextmanager
def a_folder(path: Path) -> Iterator[None]:
    path.unlink()
    path.mkdir()
    yield


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: str(verb[0]))
@pytest.mark.parametrize("fault", [locked, damaged, no_database, a_folder], ids=lambda fault: str(fault.__name__))
def test_every_verb_names_the_database_and_the_next_step(tmp_path: Path, fault: Fault, verb: list[str]) -> None:
    path = tmp_path / "evergold.db"
    Store.open(Settings(database_url=str(path))).close()
    with fault(path):
        done = CliRunner().invoke(root, ["--db", str(path), *verb])
    assert isinstance(done.exception, Unavailable), (done.exception, done.output)
    assert "evergold.db" in done.exception.message and "; " in done.exception.message
    assert "\n" not in done.exception.message


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_a_server_answers_503_while_its_database_is_locked_and_works_again(
    tmp_path: Path, method: str, route: str
) -> None:
    settings = Settings(home=tmp_path, eval_auto_curate=False)
    with Workspace.open(settings) as workspace:
        workspace.intake.accept([a_trace("t1")])
    with TestClient(create_app(settings), base_url="http://localhost", raise_server_exceptions=False) as client:
        body = [{"id": "t2", "input": "What?"}] if method == "POST" else None
        with sqlite3.connect(tmp_path / "evergold.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            reply = client.request(method, route, json=body)
            assert reply.status_code == (503 if method == "POST" else 200), reply.text
            if method == "POST":
                assert "was locked for" in reply.text and reply.headers["retry-after"]
            other.execute("ROLLBACK")
        other.close()
        assert client.request(method, route, json=body).status_code < 300


DROP_FROM_BOUNDS, MAY_IGNORE_PERMISSIONS = 24, 1  # prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE): root is then as anybody


def _obey_permissions() -> None:
    ctypes.CDLL(None).prctl(DROP_FROM_BOUNDS, MAY_IGNORE_PERMISSIONS, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", [["serve", "--port", "0"], ["ingest", "t.jsonl"], ["traces", "list"]], ids=lambda v: v[0]
)
def test_a_read_only_database_is_one_line(tmp_path: Path, verb: list[str]) -> None:
    home = tmp_path / "home"
    Store.open(Settings(home=home)).close()
    (home / "evergold.db").chmod(0o400)
    home.chmod(0o500)
    command = [str(Path(sys.executable).parent / "evergold"), "--home", "home", *verb]
    try:
        ran = subprocess.run(
            command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, timeout=PATIENCE,
            check=False, preexec_fn=_obey_permissions,
        )  # fmt: skip
    finally:
        home.chmod(0o755)
    lines = ran.stderr.splitlines()
    assert ran.returncode == 2 and len(lines) == 1, ran
    assert "evergold.db" in lines[0] and "writable" in lines[0]
