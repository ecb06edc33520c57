"""The checks of a workspace: which are on, running them by hand, and what they say of one trace."""

import time
from collections.abc import Callable
from functools import cached_property, partial
from math import inf

from evergold import plugins
from evergold.checks.builtin import CheckJudges
from evergold.checks.own import JudgeCheck, read_checks
from evergold.checks.stage import CheckReport, CheckStage
from evergold.checks.suite import Suite
from evergold.checks.switch import BEGAN_WITH, builtin_on
from evergold.errors import BadInput, describe_unknown
from evergold.judge.names import check_judge, make_judge
from evergold.model.policy import CurationRules
from evergold.seams import Check
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.facts import fact, hold_lease, read_counters
from evergold.store.trace.pages import count_traces
from evergold.store.verdict.checks import asked_today, count_unchecked, enqueue_unchecked
from evergold.store.verdict.curation import ranges

BACKFILL = "checks.backfill"


class Checks:
    def __init__(self, store: Store, settings: Settings, rules: CurationRules | None = None) -> None:
        """Without rules the settings, and how the workspace began, say which checks are on."""
        self._store, self._settings, self._rules = store, settings, rules

    @cached_property
    def stage(self) -> CheckStage:
        """The checks in force: the installed ones that are not turned off, and those of the files."""
        own = read_checks(self._settings.checks_files, known_judge=check_judge)
        installed = self.installed
        for check in own:
            if check.name in installed:
                raise BadInput(f"a check of your own is called {check.name!r} like one that is installed; rename it")
        checks: list[Check] = [*installed.values(), *own]
        wanted = {check.judge for check in own if isinstance(check, JudgeCheck)}
        judges = {name: make_judge(name, self._settings) for name in wanted}
        # The daily budget of judges survives a restart, because what was asked today is counted in the store.
        asked = self._store.read(asked_today) if judges else {}
        return CheckStage(self._store, Suite(checks, CheckJudges(judges, asked)))

    @cached_property
    def installed(self) -> dict[str, Check]:
        """The installed checks that are on."""
        on = builtin_on(self._settings, self._store.read(fact, BEGAN_WITH), self._rules)
        known = plugins.names("checks")
        for name in self._settings.checks_off:
            if name not in known:
                raise BadInput(f"checks.off: {describe_unknown('check', name, known)}")
        off = {*self._settings.checks_off, *(self._rules.checks_off if self._rules is not None else ())}
        names = [name for name in known if on and name not in off]
        made = plugins.load_all("checks", names, partial(plugins.load_with, "checks", settings=self._settings))
        return {check.name: check for check in made.values()}

    def state(self) -> dict[str, object]:
        """Which checks are on, what could not be run, how much of history they have seen, and what to do about it."""
        with self._store.db.read() as connection:
            errors = read_counters(connection, "checks.failed.")
            total, unchecked = count_traces(connection), count_unchecked(connection)
        names = sorted(self.stage.suite.checks)
        hint = None
        if not names:
            hint = "checks are off; set checks.builtin = true, then run `evergold check-traces --backfill`"
        elif unchecked:
            hint = f"{unchecked} traces have not been checked; run `evergold check-traces --backfill`"
        failed = {name.removeprefix("checks.failed."): number for name, number in errors.items()}
        return {
            "on": names,
            "traces": total,
            "unchecked": unchecked if names else total,
            "errors": failed,
            "hint": hint,
        }

    def queue_missing(self, until: float = inf) -> None:
        """Queue the traces that no check has seen yet for curation, which checks them, until a moment of the monotonic clock."""
        suite = self.stage.suite
        with self._store.db.read() as connection:
            if not suite or not count_unchecked(connection):
                return
            parts = ranges(connection)
        for after, upto, _ in parts:
            if time.monotonic() > until:
                return
            work = partial(enqueue_unchecked, suite=suite.identity, after=after, upto=upto)
            self._store.db.write_with_retry(work)

    def backfill(self, progress: Callable[[int], None] = lambda _: None, *, everything: bool = True) -> CheckReport:
        """Check all of history again, or what no check has seen; scores of checks that changed or are off now are replaced."""
        with hold_lease(self._store.db, BACKFILL, "a check of all traces"):
            return self.stage.backfill(everything=everything, progress=progress)
