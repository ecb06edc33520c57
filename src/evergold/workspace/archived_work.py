"""Checks, verdicts and curation over the days of an archive.

Each day is opened as a database of its own in a temporary folder, the stage works on it as on any, and what it changed goes
where it belongs: scores of checks into the archive, as a part that holds only the traces that changed; traces that became cases
into the workspace, with the other turns of their sessions. One day is on the disk at a time, and little of it in memory.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from evergold.checks.stage import CheckReport
from evergold.curate.explain import Explanation
from evergold.errors import BadInput
from evergold.formats.trace_archive import parts_of
from evergold.model.checking import Checked
from evergold.settings import Settings
from evergold.storage import location
from evergold.store import Store
from evergold.store.archiving import Record, entered_with_sessions, put_records, records_of
from evergold.store.curation import Changes
from evergold.store.queues import enqueue
from evergold.store.values import batches
from evergold.store.workspace_facts import fact
from evergold.workspace.archive_days import ArchivedDays
from evergold.workspace.archive_search import ArchivedTurn, days_of, row_in
from evergold.workspace.archives import Archives
from evergold.workspace.check_switch import BEGAN_WITH, builtin_on
from evergold.workspace.in_force import InForce
from evergold.workspace.live import Live

Progress = Callable[[int], None]


class ArchivedWork:
    """The verbs of stages over an archive, under the policies and checks in force in the workspace."""

    def __init__(self, store: Store, settings: Settings, live: Live) -> None:
        self._store = store
        self._settings = settings
        self._live = live

    def check(self, days: ArchivedDays, progress: Progress = lambda _: None, *, dry_run: bool = False) -> CheckReport:
        """Check archived traces again; those whose scores changed are written anew."""
        total = CheckReport()
        for day in self._days(days, progress):
            with self._opened(days.source, day) as (store, rules):
                total.include(rules.checks.dry_run() if dry_run else rules.checks.backfill())
                if not dry_run:
                    # Erasing a user must find the archive from now on.
                    Archives(self._store).remember(location(days.source))
                    Archives(store).move("0s", days.source)
        return total

    def explain_checks(self, source: str | Path, trace_id: str) -> list[Checked]:
        """What each check finds in an archived trace."""
        with self._trace_opened(source, trace_id) as rules:
            return rules.checks.explain(trace_id)

    def explain(self, source: str | Path, trace_id: str, policy_files: Sequence[Path] = ()) -> list[Explanation]:
        """Each policy's verdict on an archived trace, with the other turns of its session on that day."""
        chosen = self._live.with_policy_files(policy_files).policies
        with self._trace_opened(source, trace_id) as rules:
            return rules.under(chosen).explain(trace_id)

    def dry_run(self, days: ArchivedDays, policy_files: Sequence[Path] = ()) -> dict[str, Changes]:
        """What curating an archive would change, by policy."""
        chosen = self._live.with_policy_files(policy_files).policies
        total = {policy.label: Changes() for policy in chosen}
        for day in self._days(days):
            with self._opened(days.source, day) as (_, rules):
                rules.checks.run_missing()
                for label, changes in rules.under(chosen).dry_run().items():
                    total[label].add(changes)
        return total

    def curate(
        self, days: ArchivedDays, policy_files: Sequence[Path] = (), progress: Progress = lambda _: None
    ) -> Changes:
        """Judge archived traces; those that become cases come back into the workspace, the others stay where they are."""
        curation = self._live.with_policy_files(policy_files)
        total = Changes()
        for day in self._days(days, progress):
            with self._opened(days.source, day) as (store, rules):
                rules.checks.run_missing()
                examined = rules.under(curation.policies).backfill().traces
                self._bring_back(store)
            # A day at a time: a call that is cut short has finished the days before.
            self._live.checks.run_missing()
            changes = curation.drain()
            changes.traces = examined
            total.add(changes)
        return total

    def _bring_back(self, store: Store) -> None:
        """Store the traces that became cases in a day's database, with their sessions, in the workspace."""
        with store.db.read() as connection:
            cited, with_sessions = entered_with_sessions(connection)
        for batch in batches(with_sessions):
            with store.db.read() as connection:
                records = records_of(connection, batch)
            self._store.db.write(partial(_put, records=records, cited=set(cited)))

    def _days(self, days: ArchivedDays, progress: Progress = lambda _: None) -> Iterator[str]:
        """The days that are wanted, oldest first, as they came: an answer is judged before what was said of it."""
        chosen = sorted(days_of(days.source, days.since, days.until))
        if not chosen:
            raise BadInput(f"the archive {days.source} has no day from {days.since or 'any'} to {days.until or 'any'}")
        for day, folder in chosen:
            yield day
            progress(sum(part.traces for part in parts_of(folder)))

    @contextmanager
    def _opened(
        self, source: str | Path, day: str, turn: ArchivedTurn | None = None
    ) -> Iterator[tuple[Store, InForce]]:
        """A day, or one session of it, as a database of its own, with the checks and policies of the workspace."""
        rules = self._live.in_force.rules
        with self._store.db.read() as connection:
            checks = "true" if builtin_on(self._settings, fact(connection, BEGAN_WITH), rules) else "false"
        with tempfile.TemporaryDirectory(prefix="evergold-day-") as folder:
            settings = replace(self._settings, home=Path(folder), database_url="", checks_builtin=checks)
            store = Store.open(settings)
            try:
                Archives(store).restore(day, source, turn)
                yield store, InForce(store, settings, rules=rules)
            finally:
                store.close()

    @contextmanager
    def _trace_opened(self, source: str | Path, trace_id: str) -> Iterator[InForce]:
        day, row = row_in(source, trace_id)
        with self._opened(source, day, ArchivedTurn(trace_id, row["session_id"])) as (_, rules):
            yield rules


def _put(connection: Connection, records: Sequence[Record], cited: set[str]) -> None:
    put_records(connection, records)
    enqueue(connection, [record["id"] for record in records if record["id"] in cited])
