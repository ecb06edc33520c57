"""Who holds a run: a name that tells whether its process still lives."""

import subprocess
import sys

import pytest

from evergold import machine
from evergold.machine import is_alive, is_dead, new_owner
from evergold.model.run import RunSpec, RunStatus
from evergold.settings import Settings
from evergold.store.run.runs import RunStore
from evergold.workspace import Workspace
from tests.builders import a_case

PRINT_OWNER = "from evergold.machine import new_owner; print(new_owner())"


def test_this_process_lives() -> None:
    assert is_alive(new_owner()) and not is_dead(new_owner())
    assert new_owner() != new_owner()


def test_a_process_that_ended_is_known_to_be_dead() -> None:
    told = subprocess.run([sys.executable, "-c", PRINT_OWNER], capture_output=True, text=True, check=True)
    assert is_dead(told.stdout.strip()) and not is_alive(told.stdout.strip())


def test_a_process_elsewhere_is_never_called_dead() -> None:
    host, rest = new_owner().split("/", 1)
    assert not is_dead(f"another-{host}/{rest}")
    assert not is_dead("something odd")
    assert not is_alive(f"another-{host}/{rest}")
    assert not is_alive("something odd")


def test_without_proc_this_process_alone_is_known_to_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_read_start", lambda pid: "")
    host, pid, began, name = new_owner().rsplit("/", 3)
    assert is_alive(f"{host}/{pid}/{began}/{name}")
    assert not is_alive(f"{host}/{int(pid) + 1}/{began}/{name}")


def test_a_run_of_a_living_process_is_not_given_up_when_its_lease_ran_out(settings: Settings) -> None:
    """As after the machine slept; the command itself asks how far its run is."""
    with Workspace.open(settings) as workspace:
        workspace.cases.put([a_case("c", dataset="d")])
        spec = RunSpec(dataset="d", model="command:cat", metrics=("exact_match",))
        mine, other = (workspace.bench.run_here(spec) for _ in range(2))
        runs = RunStore(workspace.store.db)
        assert runs.claim(mine.id, new_owner(), -1) and runs.claim(other.id, "elsewhere/1/1/x", -1)
        assert workspace.bench.get(mine.id).status is RunStatus.RUNNING
        assert workspace.bench.get(other.id).status is RunStatus.FAILED
