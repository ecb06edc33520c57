"""What stages do with one day of an archive: it is opened as a database of its own in a temporary folder.

These functions take and give plain values, so that a day is a part of work for this process or for a worker of a cluster.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from evergold.checks.stage import CheckReport
from evergold.model.policy import Policy
from evergold.model.rules import CurationRules
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.archiving import Record, entered_with_sessions, records_of
from evergold.store.curation import Changes
from evergold.workspace.archive_search import ArchivedTurn
from evergold.workspace.archives import Archives
from evergold.workspace.in_force import InForce

DATABASE = "evergold.db"  # where settings name none


@dataclass(frozen=True)
class DayWork:
    """Which archive a stage works on, under which settings, rules and policies; the settings name no database."""

    source: str
    settings: Settings
    rules: CurationRules | None
    policies: tuple[Policy, ...] = ()


@dataclass(frozen=True)
class JudgedDay:
    """How many traces of a day were judged, those that became cases with the other turns of their sessions, and which did."""

    examined: int
    records: list[Record]
    entered: frozenset[str]


@contextmanager
def opened_day(work: DayWork, day: str, turn: ArchivedTurn | None = None) -> Iterator[tuple[Store, InForce]]:
    """A day, or one session of it, as a database of its own, with the checks and policies of the workspace."""
    with tempfile.TemporaryDirectory(prefix="evergold-day-") as folder:
        settings = replace(work.settings, home=Path(folder))
        (settings.home / DATABASE).write_bytes(_empty_database())
        store = Store.open(settings)
        try:
            Archives(store).restore(day, work.source, turn)
            yield store, InForce(store, settings, rules=work.rules)
        finally:
            store.close()


@cache
def _empty_database() -> bytes:
    """A database with tables and no rows, made once: making the tables of each day takes as long as judging a hundred traces."""
    with tempfile.TemporaryDirectory(prefix="evergold-day-") as folder:
        Store.open(Settings(home=Path(folder))).close()
        return (Path(folder) / DATABASE).read_bytes()


def check_day(work: DayWork, day: str) -> CheckReport:
    """Check a day again, and write the traces whose scores changed as a new part of it."""
    with opened_day(work, day) as (store, rules):
        report = rules.checks.backfill()
        Archives(store).move("0s", work.source)
        return report


def rehearse_checks(work: DayWork, day: str) -> CheckReport:
    """Check a day, and keep nothing."""
    with opened_day(work, day) as (_, rules):
        return rules.checks.dry_run()


def judge_day(work: DayWork, day: str) -> JudgedDay:
    """Judge a day; the archive stays as it is."""
    with opened_day(work, day) as (store, rules):
        rules.checks.run_missing()
        examined = rules.under(work.policies).backfill().traces
        with store.db.read() as connection:
            entered, with_sessions = entered_with_sessions(connection)
            return JudgedDay(examined, records_of(connection, with_sessions), frozenset(entered))


def rehearse_judging(work: DayWork, day: str) -> dict[str, Changes]:
    """What judging a day would change, by policy."""
    with opened_day(work, day) as (_, rules):
        rules.checks.run_missing()
        return rules.under(work.policies).dry_run()
