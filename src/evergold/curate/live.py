"""The door: what waits is curated, history is curated again, and what a policy did is explained or taken back.

Every way in goes through the same queue: a trace, score, reaction or correction marks its trace in the transaction
that stores it, and `step` takes marked traces off and brings their entries up to date in one transaction. A crash in
between loses nothing, and doing it twice changes nothing.
"""

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf
from typing import Protocol

from sqlalchemy import Connection

from evergold import plugins
from evergold.curate.choosing import DayChoices
from evergold.curate.classify import Facts
from evergold.curate.explain import Explanation, explain
from evergold.curate.findings import Finding, findings_in, forget_findings, put_finding
from evergold.curate.guarded import Called, guarded
from evergold.curate.taggers import is_built_in
from evergold.errors import BadInput, unknown
from evergold.model.policy import Policy
from evergold.model.trace import Trace
from evergold.seams import Detector, Tagger
from evergold.store import Store
from evergold.store.candidates import (
    choose_day,
    due_days,
    gather_range,
    gather_traces,
    is_chosen,
    pool_days,
    put_due_days,
    weigh_day,
)
from evergold.store.case_growth import note_late_turns
from evergold.store.checks import has_spoken
from evergold.store.corrections import count_unpaired, is_corrected, put_correction_cases
from evergold.store.curation import (
    BATCH,
    Changes,
    curate_range,
    curate_traces,
    next_queued,
    preview,
    queued,
    ranges,
    take_queued,
    take_these,
)
from evergold.store.curation_tags import changed_entries, put_tags
from evergold.store.remarks import remarks_about
from evergold.store.traces import get_trace
from evergold.store.undo import Undone, find_revision, undo_batch
from evergold.store.values import batches
from evergold.store.verdict_sql import Scope


class Checks(Protocol):
    """What runs checks: their names, and the traces it changed while it looked at some."""

    @property
    def names(self) -> Collection[str]: ...

    @property
    def slow(self) -> bool: ...

    def run_ahead(self, trace_ids: Sequence[str]) -> int: ...

    def look_at(self, connection: Connection, trace_ids: Sequence[str]) -> Sequence[str]: ...


class Curation:
    """Policies, applied to a store. Those that are not all in force look at what waits and leave it waiting for these."""

    def __init__(
        self,
        store: Store,
        policies: Sequence[Policy],
        detector: Detector | None,
        *,
        in_force: bool = True,
        checks: Checks | None = None,
    ) -> None:
        self._store = store
        self.policies = tuple(policies)
        self._detector = detector
        self._detector_name = type(detector).__name__ if detector is not None else ""
        self._in_force = in_force
        self._checks = checks
        self._choices = DayChoices()

    def step(self, limit: int = BATCH) -> tuple[int, Changes]:
        """Curate up to `limit` waiting traces; how many were taken, and what changed."""
        take = self._ready(limit)
        taken, changes = self._store.db.write(partial(self._next, take=take))
        return len(taken), changes

    def _ready(self, limit: int) -> Callable[[Connection], Sequence[str]]:
        """Run slow checks over the next traces before the transaction; what takes those traces off the queue in it."""
        if self._checks is None or not self._checks.slow:
            return partial(take_queued, limit=limit)
        with self._store.db.read() as connection:
            waiting = next_queued(connection, limit)
        reached = self._checks.run_ahead(waiting)
        return partial(take_these, trace_ids=waiting[:reached])

    def drain(self, until: float = inf) -> Changes:
        """Curate everything that waits, as far as that goes before a moment of the monotonic clock."""
        total = Changes()
        waiting: Sequence[str] = [""]
        while waiting and time.monotonic() < until:
            take = self._ready(BATCH) if self._in_force else partial(queued, after=waiting[-1])
            waiting, changes = self._store.db.write(partial(self._next, take=take))
            total.add(changes)
        if self._in_force:
            total.add(self._store.db.write(partial(self._put_off, now=True)))
        return total

    def trace(self, trace_id: str) -> Changes:
        """Curate one trace now, whether or not it waits."""

        def work(connection: Connection) -> Changes:
            get_trace(connection, trace_id)
            earlier = self._checks.look_at(connection, [trace_id]) if self._checks is not None else ()
            changes = self._curate(connection, [trace_id, *earlier], 1)
            changes.add(self._put_off(connection, now=True))
            return changes

        if self._checks is not None:
            self._checks.run_ahead([trace_id])
        return self._store.db.write(work)

    def backfill(self, progress: Callable[[int], None] = lambda _: None) -> Changes:
        """Judge all of history again, in ranges of ids: memory does not grow with it."""
        if self._detector is None and self._in_force:
            self._store.db.write(forget_findings)
        total = self.drain()
        seen = 0
        for policy in self.policies:
            self._choose_all(policy)
            seen = 0
            for after, upto, count in self._ranges():
                total.add(self._store.db.write(partial(self._range, policy=policy, after=after, upto=upto)))
                seen += count
                progress(count)
            self._weigh_all(policy)
        total.traces = seen  # each trace once, however many policies looked at it and whether or not it waited
        return total

    def _weigh_all(self, policy: Policy) -> None:
        if self.scope_of(policy).limited:
            with self._store.db.read() as connection:
                days = pool_days(connection, policy)
            for day in days:
                self._store.db.write(partial(weigh_day, policy=policy, day=day))

    def _choose_all(self, policy: Policy) -> None:
        """Gather and choose the candidates of every day before the entries follow."""
        scope = self.scope_of(policy)
        if not scope.limited:
            return
        for after, upto, _ in self._ranges():
            self._store.db.write(partial(gather_range, policy=policy, after=after, upto=upto, required=scope.required))
        with self._store.db.read() as connection:
            days = pool_days(connection, policy)
        for day in days:
            self._store.db.write(partial(choose_day, policy=policy, day=day))
        self._store.db.write(partial(put_due_days, policy=policy, days=()))

    def dry_run(self, progress: Callable[[int], None] = lambda _: None) -> dict[str, Changes]:
        """What a backfill would change, by policy, without changing anything.

        A correction that would be detected changes the verdict on its trace, so those traces are really curated, and
        taken back; all others are only judged.
        """
        detected, decided = self._would_detect(), {policy.label: Changes() for policy in self.policies}
        for batch in batches(detected, BATCH):
            for label, changes in self._store.db.rehearse(partial(self._suppose, findings=batch)).items():
                decided[label].add(changes)
        with self._store.db.read() as connection:
            if unpaired := count_unpaired(connection):
                decided[self.policies[0].label].add(Changes(by_kind={"corrected": unpaired}))
        corrected = {trace_id for finding in detected for trace_id in finding.traces}
        for policy in self.policies:
            for after, upto, count in self._ranges():
                with self._store.db.read() as connection:
                    changes = preview(connection, policy, after, upto, corrected)
                changes.traces = count
                decided[policy.label].add(changes)
                progress(count)
        return decided

    def explain(self, trace_id: str) -> list[Explanation]:
        """Each policy's verdict on a trace, its grounds, the remarks behind them, and what would change it."""
        with self._store.db.read() as connection:
            trace = get_trace(connection, trace_id)
            facts = [self._facts(connection, policy, trace_id) for policy in self.policies]
            remarks = tuple(remarks_about(connection, trace_id))
        return [
            explain(trace, trace.scores, policy, known).model_copy(update={"remarks": remarks})
            for policy, known in zip(self.policies, facts, strict=True)
        ]

    def _facts(self, connection: Connection, policy: Policy, trace_id: str) -> Facts:
        scope = self.scope_of(policy)
        return Facts(
            corrected=is_corrected(connection, trace_id),
            checked=has_spoken(connection, trace_id, scope.required),
            chosen=not scope.limited or is_chosen(connection, policy, trace_id),
        )

    def undo(self, label: str) -> Undone:
        """Take back what a policy revision (`name@digits`) did."""
        with self._store.db.read() as connection:
            whole = find_revision(connection, label)
        total = Undone(whole)
        after: int | None = 0
        while after is not None:
            part, after = self._store.db.write(partial(undo_batch, label=whole, after=after))
            total.undone += part.undone
            total.left += part.left
        return total

    def policy(self, name: str) -> Policy:
        for policy in self.policies:
            if policy.name == name:
                return policy
        raise BadInput(unknown("policy", name, [policy.name for policy in self.policies]))

    def _ranges(self) -> list[tuple[str, str, int]]:
        with self._store.db.read() as connection:
            return list(ranges(connection))

    def _next(
        self, connection: Connection, take: Callable[[Connection], Sequence[str]]
    ) -> tuple[Sequence[str], Changes]:
        return self._look_at(connection, take(connection))

    def _look_at(self, connection: Connection, waiting: Sequence[str]) -> tuple[Sequence[str], Changes]:
        if waiting and self._detector is not None:
            for finding in findings_in(connection, waiting, self._detector):
                put_finding(connection, finding, self._detector_name)
        if not waiting:
            return waiting, self._put_off(connection) if self._in_force else Changes()
        if self._in_force:
            note_late_turns(connection, waiting)
        earlier = self._checks.look_at(connection, waiting) if self._checks is not None else ()
        return waiting, self._curate(connection, [*waiting, *earlier], len(waiting))

    def _required(self, policy: Policy) -> tuple[str, ...]:
        """The checks that the policy asks for and that are on."""
        return tuple(name for name in policy.checks if self._checks is not None and name in self._checks.names)

    def scope_of(self, policy: Policy) -> Scope:
        """What a verdict of the policy takes into account beside scores."""
        return Scope(self._required(policy), limited=bool(self._checks is not None and self._checks.names))

    def _curate(self, connection: Connection, trace_ids: Sequence[str], count: int) -> Changes:
        total = Changes(traces=count)
        if corrections := put_correction_cases(connection, trace_ids, self.policies[0].dataset):
            total.by_kind["corrected"] = corrections
        for policy in self.policies:
            scope = self.scope_of(policy)
            days: list[str] = []
            exchanged: list[str] = []
            if scope.limited:
                gathered = gather_traces(connection, policy, trace_ids, scope.required)
                exchanged, days = self._choices.choose(connection, policy, gathered)
            self._follow(connection, policy, [*trace_ids, *exchanged], days, total)
        return total

    def _put_off(self, connection: Connection, now: bool = False) -> Changes:
        """Choose the candidates of days whose choice was put off, if it is time, or `now`."""
        total = Changes()
        for policy in self.policies:
            if self.scope_of(policy).limited and due_days(connection, policy):
                exchanged, days = self._choices.choose(connection, policy, (), now=now)
                if days:
                    self._follow(connection, policy, exchanged, days, total)
        return total

    def _follow(
        self, connection: Connection, policy: Policy, trace_ids: Sequence[str], days: Sequence[str], total: Changes
    ) -> None:
        """Bring the entries of traces up to date after the choice of some days."""
        total.add(curate_traces(connection, policy, trace_ids, self.scope_of(policy)))
        for day in days:
            weigh_day(connection, policy, day)
        self._plug_in_tags(connection, policy)

    def _range(self, connection: Connection, policy: Policy, after: str, upto: str) -> Changes:
        scope = self.scope_of(policy)
        changes = curate_range(connection, policy, after, upto, scope)
        self._plug_in_tags(connection, policy)
        return changes

    def _would_detect(self) -> list[Finding]:
        """What would be detected in the traces that wait."""
        if self._detector is None:
            return []
        findings: list[Finding] = []
        waiting: Sequence[str] = [""]
        with self._store.db.read() as connection:
            while waiting := queued(connection, waiting[-1]):
                findings += findings_in(connection, waiting, self._detector)
        return findings

    def _suppose(self, connection: Connection, findings: Sequence[Finding]) -> dict[str, Changes]:
        """Curate as if these corrections had been detected; how many traces there are is counted elsewhere."""
        pairs = sum(put_finding(connection, finding) for finding in findings)
        decided = {}
        for policy in self.policies:
            decided[policy.label] = curate_traces(
                connection, policy, {trace_id for finding in findings for trace_id in finding.traces}, Scope()
            )
        if pairs:
            decided[self.policies[0].label].add(Changes(by_kind={"corrected": pairs}))
        return decided

    def _plug_in_tags(self, connection: Connection, policy: Policy) -> None:
        names = [name for name in policy.tags if not is_built_in(name)]
        taggers: dict[str, Tagger] = {name: plugins.load("taggers", name) for name in names}
        if not taggers:
            return
        for entry, trace_id in changed_entries(connection):
            trace = get_trace(connection, trace_id)
            tags: set[str] = set()
            for name, tagger in taggers.items():
                called = Called(f"tagger {name}", tagger)
                tags |= guarded(connection, called, partial(_tags_of, tagger, trace), set())
            put_tags(connection, entry, tags)


def _tags_of(tagger: Tagger, trace: Trace) -> set[str]:
    """All of its tags: a tagger may fail in the middle of them."""
    return set(tagger.tags(trace))
