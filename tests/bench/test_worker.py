"""The server's worker and a run that brings every server down: taken again while it gets on, given up when it does not."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from threading import Event

import pytest

from evergold.bench.runner import MOST_TAKES
from evergold.bench.supervise import RunWorker
from evergold.machine import new_owner
from evergold.model.run import Attempt, Run, RunSpec, RunStatus
from evergold.store import Store
from evergold.store.run.attempts import AttemptStore
from evergold.store.run.runs import RunStore
from tests.bench.test_lease import PRINT_OWNER
from tests.builders import a_case
from tests.patience import PATIENCE


class Watched(RunStore):
    """Tells when a worker has decided about a run: taken it up, or ended it at once."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.db)
        self.decided = Event()

    def finish(self, run_id: str, owner: str, status: RunStatus, error: str | None = None) -> None:
        super().finish(run_id, owner, status, error)
        self.decided.set()


@pytest.fixture
def runs(store: Store) -> Watched:
    made = Watched(store)
    run = Run(
        id="r1",
        spec=RunSpec(dataset="d", model="m", metrics=("exact_match",)),
        created_at=datetime.now(UTC),
        provenance={"origin": "server"},
    )
    made.create(run, [a_case(id=f"c{i}") for i in range(3)])
    return made


def a_dead_server() -> str:
    told = subprocess.run([sys.executable, "-c", PRINT_OWNER], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def killed(runs: RunStore, times: int) -> None:
    """As many servers as that took the run and died with it."""
    dead = a_dead_server()
    for _ in range(times):
        assert runs.claim("r1", dead, 60, taking_from=dead)


def look(runs: Watched) -> list[str]:
    """What a worker takes up, and puts back when it is told to stop."""
    taken: list[str] = []
    owner = new_owner()
    runs.decided.clear()

    async def execute(run: Run) -> None:
        taken.append(run.id)
        runs.decided.set()
        try:
            await asyncio.Event().wait()
        finally:
            runs.finish(run.id, owner, RunStatus.QUEUED)

    worker = RunWorker(runs, owner, execute)
    worker.start()
    assert runs.decided.wait(PATIENCE)
    worker.stop()
    return taken


def test_a_run_that_kills_every_server_is_given_up_with_the_reason(runs: Watched) -> None:
    killed(runs, MOST_TAKES)
    assert look(runs) == []
    run = runs.get("r1")
    assert run.status is RunStatus.FAILED and run.ended_at is not None
    assert f"{MOST_TAKES} times in a row" in (run.error or "") and "--resume r1" in (run.error or "")


def test_one_that_died_less_often_is_taken_again(runs: Watched) -> None:
    killed(runs, MOST_TAKES - 1)
    assert look(runs) == ["r1"]


def test_what_gets_on_a_little_each_time_is_never_given_up(runs: Watched, store: Store) -> None:
    attempts = AttemptStore(store.db)
    killed(runs, MOST_TAKES)
    asyncio.run(attempts.record("r1", [Attempt(case_id="c0", output="x")], {}))
    assert look(runs) == ["r1"]


def test_resuming_by_hand_begins_the_count_anew(runs: Watched) -> None:
    killed(runs, MOST_TAKES)
    look(runs)
    runs.requeue("r1")
    assert look(runs) == ["r1"]


def test_a_server_that_is_told_to_stop_is_not_held_against_the_run(runs: Watched) -> None:
    for _ in range(2 * MOST_TAKES):
        owner = new_owner()
        assert runs.claim("r1", owner, 60) == 1
        runs.finish("r1", owner, RunStatus.QUEUED)
