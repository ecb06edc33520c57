"""Checks, verdicts and curation over the days of an archive.

Each day is opened as a database of its own; the stage works on it as on any, and what it
changed goes where it belongs: scores of checks into the archive, as a part that holds only the traces that changed; traces that
became cases into the workspace, with the other turns of their sessions. Each process has one day on its disk at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from evergold.checks.stage import CheckReport
from evergold.curate.explain import Explanation
from evergold.errors import BadInput
from evergold.formats.trace_archive import parts_of
from evergold.model.checking import Checked
from evergold.settings import Settings
from evergold.storage import location
from evergold.store import Store
from evergold.store.archiving import Record, put_records
from evergold.store.curation import Changes
from evergold.store.queues import enqueue
from evergold.store.values import batches
from evergold.store.workspace_facts import fact
from evergold.workspace.archive_days import ArchivedDays
from evergold.workspace.archive_search import ArchivedTurn, days_of, row_in
from evergold.workspace.archived_day import (
    DayWork,
    JudgedDay,
    check_day,
    judge_day,
    opened_day,
    rehearse_checks,
    rehearse_judging,
)
from evergold.workspace.archives import Archives
from evergold.workspace.check_switch import BEGAN_WITH, builtin_on
from evergold.workspace.live import Live

Progress = Callable[[int], None]
Result = TypeVar("Result")


def _unseen(_: int) -> None:
    """Progress that nobody looks at."""


class ArchivedWork:
    """The verbs of stages over an archive, under the policies and checks in force in the workspace."""

    def __init__(self, store: Store, settings: Settings, live: Live) -> None:
        self._store = store
        self._settings = settings
        self._live = live

    def check(self, days: ArchivedDays, progress: Progress = _unseen, *, dry_run: bool = False) -> CheckReport:
        """Check archived traces again; those whose scores changed are written anew."""
        if not dry_run:
            # Erasing a user must find the archive from now on.
            Archives(self._store).remember(location(days.source))
        total = CheckReport()
        work = self._work(days.source)
        for report in self._by_day(rehearse_checks if dry_run else check_day, work, days, progress):
            total.include(report)
        return total

    def explain_checks(self, source: str | Path, trace_id: str) -> list[Checked]:
        """What each check finds in an archived trace."""
        day, turn = _turn(source, trace_id)
        with opened_day(self._work(source), day, turn) as (_, rules):
            return rules.checks.explain(trace_id)

    def explain(self, source: str | Path, trace_id: str, policy_files: Sequence[Path] = ()) -> list[Explanation]:
        """Each policy's verdict on an archived trace, with the other turns of its session on that day."""
        work = self._work(source, policy_files)
        day, turn = _turn(source, trace_id)
        with opened_day(work, day, turn) as (_, rules):
            return rules.under(work.policies).explain(trace_id)

    def dry_run(self, days: ArchivedDays, policy_files: Sequence[Path] = ()) -> dict[str, Changes]:
        """What curating an archive would change, by policy."""
        work = self._work(days.source, policy_files)
        total = {policy.label: Changes() for policy in work.policies}
        for shown in self._by_day(rehearse_judging, work, days, _unseen):
            for label, changes in shown.items():
                total[label].add(changes)
        return total

    def curate(
        self,
        days: ArchivedDays,
        policy_files: Sequence[Path] = (),
        progress: Progress = _unseen,
    ) -> Changes:
        """Judge archived traces; those that become cases come back into the workspace, the others stay where they are."""
        curation = self._live.with_policy_files(policy_files)
        total = Changes()
        work = self._work(days.source, policy_files)
        for judged in self._by_day(judge_day, work, days, progress):
            # A day at a time: a call that is cut short has finished the days before.
            for batch in batches(judged.records):
                self._store.db.write(partial(_put, records=batch, judged=judged))
            self._live.checks.run_missing()
            changes = curation.drain()
            changes.traces = judged.examined
            total.add(changes)
        return total

    def _by_day(
        self,
        stage: Callable[[DayWork, str], Result],
        work: DayWork,
        days: ArchivedDays,
        progress: Progress,
    ) -> Iterator[Result]:
        """What a stage gives for each wanted day, the oldest first, as they came: an answer is judged before remarks on it."""
        chosen = dict(sorted(days_of(days.source, days.since, days.until)))
        if not chosen:
            raise BadInput(f"the archive {days.source} has no day from {days.since or 'any'} to {days.until or 'any'}")
        for day, folder in chosen.items():
            yield stage(work, day)
            progress(sum(part.traces for part in parts_of(folder)))

    def _work(self, source: str | Path, policy_files: Sequence[Path] = ()) -> DayWork:
        rules = self._live.in_force.rules
        with self._store.db.read() as connection:
            checks = "true" if builtin_on(self._settings, fact(connection, BEGAN_WITH), rules) else "false"
        settings = replace(self._settings, checks_builtin=checks)
        policies = tuple(self._live.with_policy_files(policy_files).policies)
        return DayWork(str(location(source).absolute()), settings, rules, policies)


def _turn(source: str | Path, trace_id: str) -> tuple[str, ArchivedTurn]:
    """The day of an archived trace, and which turn of which session it is."""
    day, row = row_in(source, trace_id)
    return day, ArchivedTurn(trace_id, row["session_id"])


def _put(connection: Connection, records: Sequence[Record], judged: JudgedDay) -> None:
    put_records(connection, records)
    enqueue(connection, [record["id"] for record in records if record["id"] in judged.entered])
