"""Steps of trajectories are on disk before the next step begins, so that an interrupted trajectory goes on after them."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from evergold.calls.journal import Journal
from evergold.model.trajectory import ReplayStep
from evergold.store.steps import StepRow, StepStore


class StepLog(Protocol):
    """Where a replay keeps its steps."""

    def kept(self, case_id: str, trial: int) -> Sequence[ReplayStep]:
        """Read the steps of a trajectory that was interrupted, in order."""

    async def keep(self, case_id: str, trial: int, number: int, step: ReplayStep) -> None:
        """Store a step; return when it is on disk."""


class NoLog:
    """Keeps nothing: for a trajectory that is played for itself."""

    def kept(self, case_id: str, trial: int) -> Sequence[ReplayStep]:
        return ()

    async def keep(self, case_id: str, trial: int, number: int, step: ReplayStep) -> None:
        return None


class _Key(NamedTuple):
    case_id: str
    trial: int


class StoredLog:
    """Keeps the steps of one run in the store; steps that end together share one commit."""

    def __init__(self, store: StepStore, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._begun = {_Key(*key) for key in store.begun(run_id)}
        self._journal: Journal[StepRow] = Journal(self._write)

    def kept(self, case_id: str, trial: int) -> Sequence[ReplayStep]:
        key = _Key(case_id, trial)
        # The set spares a query for each of the many trajectories that begin from nothing.
        if key not in self._begun:
            return ()
        self._begun.discard(key)
        return self._store.steps(self._run_id, case_id, trial)

    async def keep(self, case_id: str, trial: int, number: int, step: ReplayStep) -> None:
        await self._journal.add(StepRow(case_id, trial, number, step))

    async def close(self) -> None:
        """Wait for the commit under way."""
        await self._journal.close()

    async def _write(self, rows: Sequence[StepRow]) -> None:
        await self._store.add(self._run_id, rows)
