"""Problems: failures of one reason that are far more frequent in a topic than elsewhere, until they are fixed, and again after.

A topic has a problem where its failures of a reason in the last 7 or 28 days are more than chance would make of their share in
all other topics, at a level that allows for the number of topics and reasons looked at. Like topics with the same reason are
one problem. A person says that it is fixed, or a run over its regression cases that passes them all; it opens itself
again when it comes back.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import exp, inf, lgamma, log, log1p
from typing import Any

import numpy as np
from sqlalchemy import Connection

from evergold.model.upkeep import ProblemState, RecurringProblem
from evergold.store import Store
from evergold.store.database.rows import stamp
from evergold.store.topics import (
    Occurrence,
    ProblemRow,
    add_problem,
    change_problem,
    failing_traces,
    get_problem,
    newest_start,
    passed_run,
    read_problems,
    read_topics,
    traffic_by_day,
)
from evergold.upkeep.clusters import from_text
from evergold.upkeep.coverage import SetCoverage
from evergold.upkeep.staleness import Staleness
from evergold.upkeep.topics import REST_SECONDS, Topics

WINDOWS = (timedelta(days=7), timedelta(days=28))
KEPT = timedelta(days=90)  # failures older than that are not counted
FEWEST, FEWEST_AGAIN = 5, 3  # occurrences of a new problem, and of one that was fixed
LEVEL, LEVEL_AGAIN = 0.01, 0.01  # of all tests of a look together; of the one test of a fixed problem
PRIOR = 20  # traces without failures that are added to those of the other topics, and one with
ALIKE = 0.3  # how near the centres of topics lie that may share a problem
ELEVATED = 0.05  # the chance of the failures of a topic that shares the problem of another
SHOWN_TRACES = 20
TREND_WEEKS = 4


def chance_of(count: int, traces: int, share: float) -> float:
    """Give the chance that at least so many of the traces fail where each does with this probability."""
    if count <= 0:
        return 1.0
    whole = lgamma(traces + 1)
    terms = (
        exp(whole - lgamma(k + 1) - lgamma(traces - k + 1) + k * log(share) + (traces - k) * log1p(-share))
        for k in range(count, traces + 1)
    )
    return min(1.0, sum(terms))


@dataclass(frozen=True)
class _Traffic:
    """Traces by topic and failures by reason and topic, of one period."""

    traces: Mapping[int, int]
    failures: Mapping[str, Counter[int]]

    def chance(self, reason: str, topics: Sequence[int]) -> tuple[int, float]:
        """Count the failures of topics, and give the chance of as many if they failed as often as the others do."""
        mine, own = (
            sum(self.failures[reason].get(topic, 0) for topic in topics),
            sum(self.traces.get(t, 0) for t in topics),
        )
        others = sum(self.failures[reason].values()) - mine + 1
        share = others / (sum(self.traces.values()) - own + PRIOR)
        return mine, chance_of(mine, max(own, mine), min(share, 0.99))

    def scope_of(self, reason: str, topic: int, near: Iterable[int]) -> list[int]:
        """Give a topic and those near it that fail for the same reason: what people ask is often parted into several topics."""
        failing = self.failures[reason].keys() & set(near) - {topic}
        return [topic, *(one for one in sorted(failing) if self.chance(reason, [one])[1] < ELEVATED)]


class Problems:
    def __init__(self, store: Store, topics: Topics) -> None:
        self._store, self._topics = store, topics

    def all(self, seconds: float = inf) -> list[RecurringProblem]:
        """Sort what waits, for so many seconds at most, and list the problems as they are then: open ones first."""
        self._topics.refresh(seconds)
        self.look()
        return sorted(
            self._store.read(_describe), key=lambda one: (one.state is ProblemState.FIXED, -one.count, one.id)
        )

    def look(self) -> None:
        """Open, close and reopen problems by what was sorted."""
        changes = self._store.read(_look)
        if changes:
            self._store.write(_keep, changes)

    def get(self, problem: int) -> RecurringProblem:
        """Read one problem."""
        with self._store.db.read() as connection:
            get_problem(connection, problem)
            return next(one for one in _describe(connection) if one.id == problem)

    def fix(self, problem: int, who: str) -> RecurringProblem:
        """Note that a person fixed a problem; it opens itself again when it comes back."""
        with self._store.db.read() as connection:
            get_problem(connection, problem)
            moment = newest_start(connection)
        self._store.write(change_problem, problem, state=ProblemState.FIXED.value, decided=who, decided_at=moment or "")
        return self.get(problem)

    def note_cases(self, problem: int, dataset: str) -> None:
        """Note which dataset holds the regression cases of a problem."""
        self._store.write(change_problem, problem, dataset=dataset)


def _end(connection: Connection) -> datetime:
    newest = newest_start(connection)
    return datetime.now(UTC) if newest is None else datetime.fromisoformat(newest)


Change = tuple[int, dict[str, Any]]
"""The number of a problem, below zero for a new one, and what is written of it."""


def _look(connection: Connection) -> list[Change]:
    """Find what is new, what a run has passed and what came back."""
    end = _end(connection)
    merged = {row.id: row.merged_into for row in read_topics(connection) if row.merged_into is not None}
    occurrences = failing_traces(connection, str(stamp(end - KEPT)))
    days = traffic_by_day(connection, str(stamp(end - KEPT)))
    problems = [
        one._replace(scope=tuple(merged.get(topic, topic) for topic in one.scope)) for one in read_problems(connection)
    ]
    near = _near_topics(connection)
    changes = [change for one in problems if (change := _settle(connection, one, occurrences, days, near)) is not None]
    for window in WINDOWS:
        traffic = _traffic_since(str(stamp(end - window)), occurrences, days)
        tests = sum(len(topics) for topics in traffic.failures.values()) * len(WINDOWS) * 2
        for reason, counts in sorted(traffic.failures.items()):
            for topic, _ in counts.most_common():
                same = [one for one in problems if one.reason == reason]
                scope = traffic.scope_of(reason, topic, near.get(topic, set()))
                count, chance = traffic.chance(reason, scope)
                if count < FEWEST or chance > LEVEL / tests or any(topic in one.scope for one in same):
                    continue
                kin = next((one for one in same if set(scope).intersection(one.scope)), None)
                number = kin.id if kin else -len(problems) - 1
                scope = list(dict.fromkeys((*(kin.scope if kin else ()), *scope)))
                row = ProblemRow(number, tuple(scope), reason, "open", None, "", "")
                problems = [one for one in problems if one.id != number] + [
                    kin._replace(scope=row.scope) if kin else row
                ]
                changes.append((number, {"topic": scope[0], "reason": reason, "also": scope[1:]}))
    return changes


def _keep(connection: Connection, changes: Sequence[Change]) -> None:
    # The last word on a new one holds all topics that share it.
    for values in {number: values for number, values in changes if number < 0}.values():
        add_problem(connection, **values)
    for number, values in changes:
        if number > 0:
            change_problem(connection, number, **{name: values[name] for name in values.keys() - {"topic", "reason"}})


def _settle(
    connection: Connection,
    problem: ProblemRow,
    occurrences: Sequence[Occurrence],
    days: Sequence[tuple[str, int | None, int]],
    near: Mapping[int, set[int]],
) -> Change | None:
    """Close a problem whose cases a run has passed since it was opened, or reopen one that came back since it was fixed."""
    if problem.state != ProblemState.FIXED:
        run = passed_run(connection, problem.dataset, problem.decided_at or "") if problem.dataset else None
        fixed = {"state": ProblemState.FIXED.value}
        return None if run is None else (problem.id, fixed | {"decided": f"run {run[0]}", "decided_at": run[1]})
    traffic = _traffic_since(problem.decided_at or "", occurrences, days)
    if problem.reason not in traffic.failures:
        return None
    wide = [one for topic in problem.scope for one in traffic.scope_of(problem.reason, topic, near.get(topic, set()))]
    count, chance = traffic.chance(problem.reason, list(dict.fromkeys(wide)))
    if count < FEWEST_AGAIN or chance > LEVEL_AGAIN:
        return None
    last = max(one.started_at for one in occurrences if one.reason == problem.reason and one.topic in wide)
    return problem.id, {"state": ProblemState.REOPENED.value, "decided": "", "decided_at": last}


def _traffic_since(
    since: str, occurrences: Sequence[Occurrence], days: Sequence[tuple[str, int | None, int]]
) -> _Traffic:
    traces = Counter[int]()
    for day, topic, number in days:
        if topic is not None and day >= since[:10]:
            traces[topic] += number
    failures: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for one in occurrences:
        if one.started_at > since:
            failures[one.reason][one.topic] += 1
    return _Traffic(traces=traces, failures=failures)


def _near_topics(connection: Connection) -> dict[int, set[int]]:
    """Say of each topic which ones lie near it."""
    rows = [row for row in read_topics(connection) if row.centre]
    if not rows:
        return {}
    centres = np.stack([from_text(row.centre, 1)[:, 0] for row in rows])
    near = centres @ centres.T >= ALIKE
    return {
        row.id: {rows[int(other)].id for other in np.flatnonzero(line)} for row, line in zip(rows, near, strict=True)
    }


def _describe(connection: Connection) -> list[RecurringProblem]:
    """Describe the problems with what happened in the last 90 days."""
    end = _end(connection)
    rows = read_topics(connection)
    names, merged = {row.id: row.name for row in rows}, {row.id: row.merged_into or row.id for row in rows}
    by_reason: defaultdict[str, list[Occurrence]] = defaultdict(list)
    for one in failing_traces(connection, str(stamp(end - KEPT))):
        by_reason[one.reason].append(one)
    described = []
    for problem in read_problems(connection):
        scope = {merged.get(topic, topic) for topic in problem.scope}
        mine = sorted((one for one in by_reason[problem.reason] if one.topic in scope), key=lambda one: one.started_at)
        bounds = [str(stamp(end - timedelta(weeks=weeks))) for weeks in range(TREND_WEEKS, 0, -1)] + ["~"]
        topic = merged.get(problem.topic, problem.topic)
        described.append(
            RecurringProblem(
                id=problem.id,
                topic=topic,
                name=names.get(topic, ""),
                reason=problem.reason,
                count=len(mine),
                first_seen=mine[0].started_at if mine else problem.created_at,
                last_seen=mine[-1].started_at if mine else problem.created_at,
                trend=[sum(low < one.started_at <= high for one in mine) for low, high in pairwise(bounds)],
                state=ProblemState(problem.state),
                dataset=problem.dataset,
                traces=[one.trace_id for one in reversed(mine[-SHOWN_TRACES:])],
            )
        )
    return described


LOOK_SECONDS = 600.0


class UpkeepWatch:
    """Sorts into topics while nothing else is to be done, and now and then looks at coverage and problems."""

    def __init__(self, store: Store) -> None:
        self._topics = Topics(store)
        self._coverage, self._problems = SetCoverage(store, self._topics), Problems(store, self._topics)
        self._staleness = Staleness(store)
        self._next = self._compare_next = 0.0

    def at_leisure(self) -> bool:
        """Do a little; whether there is more."""
        if self._topics.at_leisure():
            return True
        if time.monotonic() >= self._compare_next:
            if self._staleness.step():
                return True
            self._compare_next = time.monotonic() + REST_SECONDS
        began = time.monotonic()
        if began >= self._next:
            self._coverage.keep()
            self._problems.look()
            # A look over very many traces takes seconds: it takes no more than a hundredth of the time.
            self._next = began + max(LOOK_SECONDS, 100 * (time.monotonic() - began))
        return False
