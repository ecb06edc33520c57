"""Calibrations of judges, appended; the newest for a judge, metric and wording is the one that counts."""

from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from evergold.store.db import Database
from evergold.store.schema import calibrations


class CalibrationRow(NamedTuple):
    judge: str
    metric: str
    prompt_hash: str | None
    body: str
    created_at: str


class CalibrationStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, judge: str, metric: str, prompt_hash: str | None, body: str) -> None:
        row = {"judge": judge, "metric": metric, "prompt_hash": prompt_hash, "body": body}

        def work(connection: Connection) -> None:
            connection.execute(insert(calibrations).values(**row))

        self._db.write(work)

    def newest(self) -> list[CalibrationRow]:
        """The newest calibration of each judge and metric."""
        columns = [calibrations.c[name] for name in CalibrationRow._fields]
        with self._db.read() as connection:
            rows = [CalibrationRow(*row) for row in connection.execute(select(*columns).order_by(calibrations.c.id))]
        # In order of id, so the last one of a key is the newest.
        return list({(row.judge, row.metric): row for row in rows}.values())

    def of_metric(self, metric: str) -> list[CalibrationRow]:
        """Newest first."""
        columns = [calibrations.c[name] for name in CalibrationRow._fields]
        wanted = select(*columns).where(calibrations.c.metric == metric).order_by(calibrations.c.id.desc())
        with self._db.read() as connection:
            return [CalibrationRow(*row) for row in connection.execute(wanted)]
