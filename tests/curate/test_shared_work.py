"""Bulk curation by two processes on one PostgreSQL: each does a share, a killed one loses nothing, the outcome is that of one."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text

from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.conftest import empty_database
from tests.patience import PATIENCE

PROGRAM = """
import sys
from evergold.cli import main, root
root(["check-traces", "--explain", "t00000"], standalone_mode=False)
print("loaded", flush=True)
sys.stdin.readline()
main(["curate", "--json", *sys.argv[1:]])
"""
SESSIONS, TURNS = 60, 4
ASKED = (
    "Where is parcel {}?",
    "No, that is wrong: I asked for parcel {}.",
    "Which day does parcel {} come?",
    "Thanks!",
)
POLICY = 'name = "default"\n[thresholds]\ngolden_from = {}\n[limit]\ncandidates_per_day = 7\n'
ENTRIES = """SELECT d.trace_id, d.entry_type, d.input_text, d.output_text, d.metadata, d.body, d.policy_rev, d.confirmed,
    d.status, d.version, r.version, r.action, r.who, r.why, r.evidence,
    (SELECT string_agg(tag, ' ' ORDER BY tag) FROM eval_dataset_tags g WHERE g.dataset_id = d.id)
    FROM eval_dataset d JOIN case_revisions r ON r.entry_id = d.id ORDER BY d.trace_id, d.case_id, r.version"""
CANDIDATES = "SELECT trace_id, day, chosen, included, repeats FROM candidate_pool ORDER BY trace_id"
SCORES = "SELECT trace_id, key, value, comment FROM trace_scores ORDER BY trace_id, key"
OWNERS = "SELECT count(DISTINCT owner) FROM curation_queue"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def traces() -> Iterator[Trace]:
    for session in range(SESSIONS):
        for turn, asked in enumerate(ASKED):
            number = TURNS * session + turn
            yield a_trace(
                f"t{number:05}",
                session_id=f"s{session}",
                input=asked.format(number),
                output=f"Parcel {number} comes on Tuesday, to the door that you named.",
                started_at=f"2026-01-{5 + session % 3:02}T10:{turn:02}:00Z",
                scores=(a_score(value=(0.2, 0.85, 0.95)[number % 3]),) if number % 5 == 0 else (),
            )


class Shared:
    """A workspace on a database of its own, and commands on it."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self._engine = create_engine(url, poolclass=NullPool)

    def fill(self) -> None:
        with Workspace.open(Settings(home=self._folder, database_url=self._url, checks_builtin="true")) as workspace:
            workspace.intake.accept(traces())

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """Start a process that has loaded everything, and curates when it is told to."""
        settings = {
            "HOME": str(self._folder),
            "DATABASE_URL": self._url,
            "CHECKS_BUILTIN": "true",
            "CURATION_POLICIES": str(self._folder / "policy.toml"),
        }
        environment = os.environ | {f"EVERGOLD_{name}": value for name, value in settings.items()}
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        while process.stdout.readline() != "loaded\n":
            assert process.poll() is None
        return process

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """Let nobody write entries for the length of a block."""
        with self._engine.connect() as connection:
            connection.execute(text("LOCK TABLE eval_dataset IN SHARE MODE"))
            yield

    def wait_for(self, number: int, query: str) -> None:
        until = time.monotonic() + PATIENCE
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            while connection.execute(text(query)).scalar_one() < number:
                assert time.monotonic() < until
                time.sleep(0.02)

    def outcome(self) -> list[Any]:
        with self._engine.connect() as connection:
            entries = [tuple(_comparable(value) for value in row) for row in connection.execute(text(ENTRIES))]
            rest = [connection.execute(text(query)).all() for query in (CANDIDATES, SCORES)]
        return [entries, *rest]


def _comparable(value: Any) -> Any:
    """In which order scores were read says nothing."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    said = json.loads(value)
    return said | {"scores": sorted(map(json.dumps, said["scores"]))} if "scores" in said else said


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def examined(process: "subprocess.Popen[str]") -> int:
    printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return int(json.loads(printed)["examined"])


def curate(shared: Shared, *words: str, kill: bool) -> list[int]:
    """Curate by two processes that are in the middle of a part each when one of them may be killed; what each examined."""
    processes = [shared.begin(*words) for _ in range(2)]
    for process in processes:
        go(process)
    if not words:
        shared.wait_for(2, OWNERS)
    with shared.held_up():
        shared.wait_for(2, WAITING)
        if kill:
            processes[0].send_signal(signal.SIGKILL)
            processes[0].communicate()
    return [examined(process) for process in processes[int(kill) :]]


@pytest.mark.campaign
@pytest.mark.parametrize("kill", [False, True], ids=["both_live", "one_is_killed"])
def test_two_processes_give_what_one_gives(postgres_server: str, tmp_path: Path, kill: bool) -> None:
    with empty_database(postgres_server) as alone_url, empty_database(postgres_server) as shared_url:
        alone, shared = Shared(alone_url, tmp_path), Shared(shared_url, tmp_path)
        for golden_from, words in ((0.8, ()), (0.9, ("--backfill",))):
            (tmp_path / "policy.toml").write_text(POLICY.format(golden_from))
            if not words:
                alone.fill()
                shared.fill()
            single = alone.begin(*words)
            go(single)
            assert examined(single) == SESSIONS * TURNS
            shares = curate(shared, *words, kill=kill)
            # A remark in one process may queue an answer again that another one has examined.
            assert all(shares) and sum(shares) >= SESSIONS * TURNS
            assert len(shares) == 2 or shares == [SESSIONS * TURNS]
            expected = alone.outcome()
            assert all(expected) and shared.outcome() == expected
