"""Curate the traces in the queue: one batch, one transaction at a time.

Every way in goes through the same queue: a trace, score, reaction or correction marks its trace in the transaction
that stores it, and `step` takes marked traces off and brings their entries up to date in one transaction. A crash in
between loses nothing, and doing it twice changes nothing.

The candidates of a small day are chosen anew with each batch. For a large one that would cost time in the square of its
traces, because choosing reads every candidate of the day. A day
whose choice is put off is noted in the transaction that put it off, and chosen when its time has come, by whichever process
curates then. So the choice is exact as soon as nothing more comes, and at every curation by hand.

A large day is read beside the writer, whom others wait for; only what changed is written. When the pool changed meanwhile, the
day stays noted.

Tags of plug-ins are added here; the built-in ones (message type, model, tool, failed check) are made by the store.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf

from sqlalchemy import Connection

from evergold import plugins
from evergold.checks.stage import CheckStage
from evergold.curate.detectors import JudgeDetector, PatternDetector, call_guarded
from evergold.curate.findings import findings_in, put_finding
from evergold.errors import Unavailable
from evergold.machine import give_back_memory, new_owner
from evergold.model.policy import TAG_KINDS, Policy
from evergold.model.trace import Trace
from evergold.seams import Detector, Tagger
from evergold.store import Store
from evergold.store.case.content import note_late_turns
from evergold.store.facts import Portion, count, database_time
from evergold.store.trace.scores import enqueue
from evergold.store.trace.traces import get_trace
from evergold.store.verdict.candidates import (
    DayChoice,
    choice_of,
    due_days,
    gather_traces,
    is_small,
    keep_choice,
    note_gathered,
    pool_number,
    put_due_days,
    put_off_days,
    weigh_day,
)
from evergold.store.verdict.corrections import put_correction_cases
from evergold.store.verdict.curation import (
    BATCH,
    Changes,
    changed_entries,
    curate_traces,
    free_lent,
    is_queued_before,
    lend_queued,
    list_queue,
    newest_number,
    next_queued,
    put_tags,
    queue_counts,
    take_lent,
    take_queued,
)
from evergold.store.verdict.tiers import Scope

SMALL = 2_000  # candidates of a day that are chosen anew in a few milliseconds
REST = 100.0  # so many times as long as a choice took, the next one of that day waits


class DayChoices:
    """Remembers when each day may be chosen again, and choices that are not written yet."""

    def __init__(self) -> None:
        self._rests_until: dict[tuple[str, str], float] = {}
        self._ahead: dict[tuple[str, str], DayChoice] = {}

    def look_ahead(self, connection: Connection, policy: Policy, *, now: bool = False) -> None:
        """Choose large days that were put off and are due, `now`: all of them, for `choose` to write down."""
        for day in due_days(connection, policy):
            rested = time.monotonic() >= self._rests_until.get((policy.name, day), 0.0)
            if (now or rested) and not is_small(connection, policy, day, SMALL):
                began = time.monotonic()
                self._ahead[policy.name, day] = choice_of(connection, policy, day)
                ended = time.monotonic()
                self._rests_until[policy.name, day] = ended + REST * (ended - began)
                give_back_memory()  # SQLite sorted the whole day in it

    def choose(
        self, connection: Connection, policy: Policy, days: Iterable[str], *, now: bool = False
    ) -> tuple[list[str], list[str]]:
        """Choose those days that are due, and earlier ones that were put off; `now`: all of them.

        Returns the traces whose place changed, and the days that were chosen.
        """
        days = set(days)
        noted = due_days(connection, policy, to_change=True)
        if days:
            note_gathered(connection, policy)
        state = pool_number(connection, policy)
        left, chosen, exchanged = set[str](), list[str](), list[str]()
        for day in sorted(noted | days):
            choice = self._ahead.pop((policy.name, day), None)
            current = choice is not None and choice.pool_number == state
            if not current and (now or is_small(connection, policy, day, SMALL)):
                choice, current = choice_of(connection, policy, day), True
            if not current:
                left.add(day)
            if choice is not None:
                exchanged += keep_choice(connection, policy, day, choice)
                chosen.append(day)
        # Written only on change: most batches put nothing off.
        if left != noted:
            put_due_days(connection, policy, left)
        return exchanged, chosen


def put_plugin_tags(connection: Connection, policy: Policy) -> None:
    """Give the entries that changed the tags of the plug-ins that the policy names."""
    names = [name for name in policy.tags if name not in TAG_KINDS]
    taggers: dict[str, Tagger] = plugins.load_all("taggers", names)
    if not taggers:
        return
    for entry, trace_id in changed_entries(connection):
        trace = get_trace(connection, trace_id)
        tags: set[str] = set()
        for name, tagger in taggers.items():
            tags |= call_guarded(connection, f"tagger {name}", tagger, partial(_tags_of, tagger, trace), set())
        put_tags(connection, entry, tags)


def _tags_of(tagger: Tagger, trace: Trace) -> set[str]:
    """Collect all of its tags: a tagger may fail in the middle of them."""
    return set(tagger.tags(trace))


SHARED_SECONDS = 0.1  # between two looks at what other processes have in hand
MOST_AHEAD = 200  # traces that slow checks run over before they are taken; the others are for other processes
REQUEUED = 3  # times that a trace is taken off the queue at most: a remark on an answer queues that answer again
MOST_COUNTED = 20_000  # ids that a server keeps, of some 100 bytes each


class NotCurated(Exception):
    """Names the traces that could not be curated together; its cause is why."""

    def __init__(self, trace_ids: Sequence[str]) -> None:
        super().__init__(f"{len(trace_ids)} traces could not be curated")
        self.trace_ids = tuple(trace_ids)


class QueuedCuration:
    """Applies policies to waiting traces. Policies that are not in force read the queue and leave it as it is."""

    def __init__(
        self,
        store: Store,
        policies: Sequence[Policy],
        detector: Detector | None,
        *,
        rules: int | None = 0,
        checks: CheckStage | None = None,
    ) -> None:
        """`rules` is the number of the change of the rules that the policies follow; None: they are not in force."""
        self._store = store
        self.policies = tuple(policies)
        self._detector = detector
        self._detector_name = getattr(detector, "name", type(detector).__name__) if detector is not None else ""
        self._in_force = rules is not None
        self._rules, self._checks = rules, checks
        self._choices = DayChoices()
        self._freed = False  # whether traces that dead processes held were given back
        self._at_hand: Sequence[str] = ()  # the traces of the step under way
        self._counted: set[str] = set()  # a remark queues its answer once more, which is no other trace

    def step(self, limit: int = BATCH) -> tuple[int, Changes]:
        """Curate up to `limit` waiting traces; how many were taken, and what changed.

        Raises `Unavailable` while the database does not answer, and `NotCurated` for everything else.
        """
        self._at_hand = ()
        try:
            take = self._prepare_next(limit, self._store.holder)
            if self._in_force:
                self._look_ahead()
            taken, changes = self._store.db.write(partial(self._curate_next, take=take))
        except Unavailable:
            raise
        except Exception as problem:
            raise NotCurated(self._at_hand) from problem
        changes.traces = self._first_visits(taken)
        return len(taken), changes

    def _prepare_next(self, limit: int, owner: str, *, shared: bool = False) -> Callable[[Connection], Sequence[str]]:
        """Run what is slow over the next traces before the transaction; what takes those traces off the queue in it."""
        reader = self._detector if isinstance(self._detector, PatternDetector) else None
        slow = self._checks if self._checks is not None and self._checks.slow else None
        if slow is None and not isinstance(reader, JudgeDetector):
            if not shared:
                if reader is not None:
                    limit = reader.read_ahead(self._store, self._store.read(next_queued, limit)) or limit
                return partial(take_queued, limit=limit)
        else:
            limit = min(limit, MOST_AHEAD)
        if not self._freed:
            self._store.db.write(free_lent)
            self._freed = True
        # Lent first: of two processes only one asks a judge about a trace, and only one has a session in hand.
        waiting = self._at_hand = self._store.db.write_with_retry(partial(lend_queued, limit=limit, owner=owner))
        if slow is not None:
            waiting = waiting[: slow.run_ahead(waiting)]
        if reader is not None:
            waiting = waiting[: reader.read_ahead(self._store, waiting)]
        return partial(take_lent, trace_ids=waiting, owner=owner)

    def drain(self, until: float = inf) -> Changes:
        """Curate everything that waits, as far as that goes before a moment of the monotonic clock.

        Traces that come without end meanwhile, to a server beside this process, are left to the next curation, and so is
        everything as soon as the rules are changed.
        """
        total, portion, after = Changes(), Portion(BATCH), ""
        self._counted.clear()
        with self._store.db.read() as connection:
            began = database_time(connection)
            # What is left after so many must have come since. Policies not in force read in the order of ids, which has an end.
            most = REQUEUED * queue_counts(connection)[0] + BATCH if self._in_force else inf
        taken, owner = 0, new_owner()  # not that of the background, which may be at it in the same process
        while taken < most and time.monotonic() < until:
            # Other policies read the queue page by page and leave it; those in force take traces off.
            size = portion.size
            take = (
                self._prepare_next(size, owner, shared=self._store.db.dialect == "postgresql")
                if self._in_force
                else partial(list_queue, after=after, size=size)
            )
            work = partial(self._curate_next, take=take, choose=False)
            batch, changes = self._store.db.write_with_retry(portion.time_work(work))
            if not batch and not self._is_shared(began):
                break
            changes.traces = self._first_visits(batch)
            total.add(changes)
            taken += len(batch)
            if batch:
                after = batch[-1]
            else:
                time.sleep(SHARED_SECONDS)
        # Days are chosen once, when every trace is there: each trace has the revisions that a single process gives it.
        total.add(self._choose_put_off())
        return total

    def _is_shared(self, began: str) -> bool:
        """Whether another process still has traces that waited at this moment; those of a dead one are freed."""
        if not self._in_force:
            return False
        self._store.db.write(free_lent)
        with self._store.db.read() as connection:
            return not self.is_outdated(connection) and is_queued_before(connection, began)

    def is_outdated(self, connection: Connection) -> bool:
        """Whether the rules were changed since those that these policies follow."""
        return self._rules is not None and newest_number(connection) != self._rules

    def trace(self, trace_id: str) -> Changes:
        """Curate one trace now, whether or not it waits."""

        def work(connection: Connection) -> Changes:
            get_trace(connection, trace_id)
            earlier = self._checks.look_at(connection, [trace_id]) if self._checks is not None else ()
            return self._curate(connection, [trace_id, *earlier], 1)

        if self._checks is not None:
            self._checks.run_ahead([trace_id])
        changes = self._store.db.write_with_retry(work)
        changes.add(self._choose_put_off())
        return changes

    def _look_ahead(self, *, now: bool = False) -> None:
        """Read the large days that are to be chosen before the transaction that does it."""
        limited = [policy for policy in self.policies if self.scope_of(policy).limited]
        with self._store.db.snapshot() as connection:
            for policy in limited:
                self._choices.look_ahead(connection, policy, now=now)

    def _choose_put_off(self) -> Changes:
        """Choose every day whose choice was put off."""
        self._look_ahead(now=True)
        return self._store.db.write(partial(self._put_off, now=True))

    def _curate_next(
        self, connection: Connection, take: Callable[[Connection], Sequence[str]], choose: bool = True
    ) -> tuple[Sequence[str], Changes]:
        """Curate the traces that `take` gives; without `choose`, the days they change are chosen later."""
        waiting = self._at_hand = take(connection)
        # Looked at after traces were taken: rules that were saved meanwhile queued them, for a curation that follows those.
        if self.is_outdated(connection):
            enqueue(connection, waiting)
            return (), Changes()
        if not waiting:
            return waiting, self._put_off(connection) if choose and self._in_force else Changes()
        if self._detector is not None:
            for finding in findings_in(connection, waiting, self._detector):
                put_finding(connection, finding, self._detector_name, waiting)
        if isinstance(self._detector, JudgeDetector):
            count(connection, self._detector.take_counts())
        if self._in_force:
            note_late_turns(connection, waiting)
        earlier = self._checks.look_at(connection, waiting) if self._checks is not None else ()
        return waiting, self._curate(connection, [*waiting, *earlier], len(waiting), choose)

    def _first_visits(self, waiting: Sequence[str]) -> int:
        """Count the traces, committed by now, that were not counted before; of very many only the latest are remembered."""
        fresh = set(waiting) - self._counted
        if len(self._counted) > MOST_COUNTED:
            self._counted.clear()
        self._counted |= fresh
        return len(fresh)

    def scope_of(self, policy: Policy) -> Scope:
        """Give what a verdict of the policy takes into account beside scores: the checks it asks for that are on, and limits."""
        on = self._checks.names if self._checks is not None else frozenset()
        return Scope(tuple(name for name in policy.checks if name in on), limited=bool(on))

    def _curate(self, connection: Connection, trace_ids: Sequence[str], count: int, choose: bool = True) -> Changes:
        total = Changes(traces=count)
        put_off: dict[Policy, set[str]] = {}
        if corrections := put_correction_cases(connection, trace_ids, self.policies[0].dataset):
            total.by_kind["corrected"] = corrections
        for policy in self.policies:
            scope = self.scope_of(policy)
            days: list[str] = []
            exchanged: list[str] = []
            if scope.limited:
                gathered = gather_traces(connection, policy, trace_ids, scope.required)
                if choose:
                    exchanged, days = self._choices.choose(connection, policy, gathered)
                elif gathered:
                    put_off[policy] = gathered
            self._follow(connection, policy, [*trace_ids, *exchanged], days, total)
        for policy, gathered in put_off.items():
            put_off_days(connection, policy, gathered)
        return total

    def _put_off(self, connection: Connection, now: bool = False) -> Changes:
        """Choose the candidates of days whose choice was put off, if it is time, or `now`."""
        total = Changes()
        if self.is_outdated(connection):
            return total
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
        put_plugin_tags(connection, policy)
