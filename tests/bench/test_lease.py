"""Who holds a run: a name that tells whether its process still lives."""

import subprocess
import sys

from evergold.bench.lease import is_dead, new_owner

PRINT_OWNER = "from evergold.bench.lease import new_owner; print(new_owner())"


def test_this_process_lives() -> None:
    assert not is_dead(new_owner())
    assert new_owner() != new_owner()


def test_a_process_that_ended_is_known_to_be_dead() -> None:
    told = subprocess.run([sys.executable, "-c", PRINT_OWNER], capture_output=True, text=True, check=True)
    assert is_dead(told.stdout.strip())


def test_a_process_elsewhere_is_never_called_dead() -> None:
    machine, rest = new_owner().split("/", 1)
    assert not is_dead(f"another-{machine}/{rest}")
    assert not is_dead("something odd")
