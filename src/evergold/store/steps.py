"""Steps of trajectories that are not finished: written before the next step begins, gone once the attempt is stored."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, and_, delete, insert, select

from evergold.model.run import ReplayStep, Usage
from evergold.store.attempt_pages import Key
from evergold.store.db import Database
from evergold.store.schema import attempt_steps


class StepRow(NamedTuple):
    """One step with the trajectory it belongs to; `number` counts from 0."""

    case_id: str
    trial: int
    number: int
    step: ReplayStep


class StepStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def begun(self, run_id: str) -> set[Key]:
        """The trajectories of a run that have steps and no attempt yet."""
        query = select(attempt_steps.c.case_id, attempt_steps.c.trial).where(attempt_steps.c.run_id == run_id)
        with self._db.read() as connection:
            return {(row.case_id, row.trial) for row in connection.execute(query.distinct())}

    def steps(self, run_id: str, case_id: str, trial: int) -> list[ReplayStep]:
        """The kept steps of a trajectory, in order."""
        table = attempt_steps.c
        of_trajectory = and_(table.run_id == run_id, table.case_id == case_id, table.trial == trial)
        query = select(table.body).where(of_trajectory).order_by(table.number)
        with self._db.read() as connection:
            return [ReplayStep.model_validate_json(body) for body in connection.execute(query).scalars()]

    def spent(self, run_id: str) -> Usage:
        """What the kept steps of a run took: the budget of a resumed run begins there."""
        total = Usage()
        for case_id, trial in self.begun(run_id):
            for step in self.steps(run_id, case_id, trial):
                # Added up by the rules of `Usage`: one unpriced step makes the whole cost unknown.
                total = total.plus(step.usage).plus(step.helper_usage)
        return total

    async def add(self, run_id: str, rows: Sequence[StepRow]) -> None:
        """Write steps in one transaction."""
        written = [
            {
                "run_id": run_id,
                "case_id": row.case_id,
                "trial": row.trial,
                "number": row.number,
                "body": row.step.model_dump_json(exclude_defaults=True),
            }
            for row in rows
        ]
        await self._db.write_async(lambda connection: connection.execute(insert(attempt_steps), written))


def drop_steps(connection: Connection, run_id: str, keys: Sequence[Key]) -> None:
    """Delete the steps of trajectories that are attempts now."""
    for case_id, trial in keys:
        table = attempt_steps.c
        of_trajectory = and_(table.run_id == run_id, table.case_id == case_id, table.trial == trial)
        connection.execute(delete(attempt_steps).where(of_trajectory))
