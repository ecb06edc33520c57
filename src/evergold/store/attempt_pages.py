"""Attempts of a run with what was measured of them, from the database to the noun: all in turn, or one page in an order."""

from collections.abc import Iterator
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, Connection, Select, case, func, select, tuple_

from evergold.model.run import Attempt
from evergold.store.db import Database
from evergold.store.schema import attempts, measurements

AT_ONCE = 500
Key = tuple[str, int]
AttemptOrder = Literal["case", "worst"]

_COLUMNS = (attempts.c.case_id, attempts.c.trial, attempts.c.body)
_KEY = (attempts.c.case_id, attempts.c.trial)


def all_attempts(db: Database, run_id: str, case_id: str | None = None) -> Iterator[Attempt]:
    """By case and trial, some hundreds in memory at a time."""
    last: Key = ("", -1)
    chosen = [attempts.c.run_id == run_id] + ([attempts.c.case_id == case_id] if case_id is not None else [])
    while True:
        # By key and not by OFFSET: the primary key is read on from where the last page ended, however far that is.
        page = select(*_COLUMNS).where(*chosen, tuple_(*_KEY) > last).order_by(*_KEY).limit(AT_ONCE)
        with db.read() as connection:
            rows = connection.execute(page).all()
            if not rows:
                return
            end = (rows[-1].case_id, rows[-1].trial)
            key = tuple_(measurements.c.case_id, measurements.c.trial)
            measured = _measured(connection, run_id, key > last, key <= end)
        yield from (_attempt(row, measured) for row in rows)
        last = end


def attempt_page(db: Database, run_id: str, order: AttemptOrder, limit: int, offset: int) -> list[Attempt]:
    """One page by case and trial, or the worst first.

    Failed calls come before failed measurements, then the lowest value of any metric, and what has no value last.
    """
    query = _worst_first(run_id) if order == "worst" else select(*_COLUMNS).order_by(*_KEY)
    with db.read() as connection:
        rows = connection.execute(query.where(attempts.c.run_id == run_id).limit(limit).offset(offset)).all()
        keys = [(row.case_id, row.trial) for row in rows]
        measured = _measured(connection, run_id, tuple_(measurements.c.case_id, measurements.c.trial).in_(keys))
    return [_attempt(row, measured) for row in rows]


def _worst_first(run_id: str) -> Select[Any]:
    """The lowest value stands beside its attempt; in SQL false comes before true."""
    of_attempt = (measurements.c.case_id, measurements.c.trial)
    failed = case((measurements.c.state == "error", 1), else_=0)
    lowest = (
        select(*of_attempt, func.min(measurements.c.value).label("value"), func.max(failed).label("failed"))
        .where(measurements.c.run_id == run_id)
        .group_by(*of_attempt)
        .subquery()
    )
    same = (lowest.c.case_id == attempts.c.case_id) & (lowest.c.trial == attempts.c.trial)
    # `IS NULL` as a sort key, because SQLite and PostgreSQL place NULLs at opposite ends.
    order = (
        attempts.c.error.is_(None),
        func.coalesce(lowest.c.failed, 0).desc(),
        lowest.c.value.is_(None),
        lowest.c.value,
        *_KEY,
    )
    return select(*_COLUMNS).outerjoin(lowest, same).order_by(*order)


def _measured(connection: Connection, run_id: str, *which: ColumnElement[bool]) -> dict[Key, dict[str, Any]]:
    results: dict[Key, dict[str, Any]] = {}
    columns = [measurements.c[name] for name in ("case_id", "trial", "metric", "state", "value", "body")]
    rows = connection.execute(select(*columns).where(measurements.c.run_id == run_id, *which)).all()
    for case_id, trial, metric, state, value, body in rows:
        results.setdefault((case_id, trial), {})[metric] = {**orjson.loads(body), "state": state, "value": value}
    return results


def _attempt(row: Any, measured: dict[Key, dict[str, Any]]) -> Attempt:
    case_id, trial, body = row
    return Attempt.model_validate({**orjson.loads(body), "measurements": measured.get((case_id, trial), {})})
