"""Problems: failures of one reason that are far more frequent among like questions than elsewhere, until they are fixed.

A problem is a region of the traffic, or several, in which failures of a reason in the last 7 or 28 days are more than chance
makes of their share elsewhere. Regions that are alike, or whose failures are mostly in one topic, are one problem, which has
that topic. A person says that it is fixed, or a run over its regression cases that passes them all; it opens itself again
when failures come back to its regions.
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import compress, pairwise
from math import inf

import numpy as np
from sqlalchemy import Connection

from evergold.model.upkeep import ProblemState, RecurringProblem
from evergold.store import Store
from evergold.store.database.rows import stamp
from evergold.store.topics import (
    AskedTrace,
    ProblemRow,
    asked_since,
    failing_traces,
    get_problem,
    newest_start,
    passed_run,
    read_problems,
    read_topics,
    write_problems,
)
from evergold.upkeep.clusters import from_text, to_text
from evergold.upkeep.coverage import SetCoverage
from evergold.upkeep.regions import ALIKE, FEWEST, Ground, Mask, Region, embed_texts
from evergold.upkeep.staleness import Staleness
from evergold.upkeep.topics import REST_SECONDS, Topics

WINDOWS = (timedelta(days=7), timedelta(days=28))
KEPT = timedelta(days=90)  # failures older than that are not counted
MOST_TRACES, MOST_FAILURES = 20_000, 5_000  # the newest that are looked at
FEWEST_AGAIN = 3  # occurrences of a problem that was fixed
LEVEL = 0.01  # of all tests of a look for new problems together; of the tests of one fixed problem together
SHOWN_TRACES = 20
TREND_WEEKS = 4
NEW = 0  # the number of a problem that is not written yet


class _View:
    """The traffic that problems are looked for in, and where its questions lie."""

    def __init__(self, connection: Connection) -> None:
        newest = newest_start(connection)
        self.end = datetime.now(UTC) if newest is None else datetime.fromisoformat(newest)
        self.failures = failing_traces(connection, str(stamp(self.end - KEPT)), MOST_FAILURES)
        self.problems, self.topics = read_problems(connection), read_topics(connection)
        self.merged = {row.id: row.merged_into or row.id for row in self.topics}
        self.traffic = asked_since(connection, str(stamp(self.end - WINDOWS[-1])), MOST_TRACES) if self.failures else []
        self.began = np.array([one.started_at for one in self.traffic], dtype=str)
        self.ground = Ground(embed_texts([one.question for one in self.traffic])) if self.traffic else None

    def since(self, window: timedelta) -> Mask:
        """Say which traces began in the time before the newest."""
        recent: Mask = self.began >= str(stamp(self.end - window))
        return recent

    def occurrences(self, problem: ProblemRow) -> list[AskedTrace]:
        """List the failures that belong to a problem, the oldest first."""
        mine = [one for one in self.failures if one.reason == problem.reason]
        if problem.regions and self.ground is not None and mine:
            points = self.ground.project(embed_texts([one.question for one in mine]))
            inside = np.zeros(len(mine), dtype=bool)
            for region in map(_read_region, problem.regions):
                inside |= points @ self.ground.project(region.centre[None])[0] >= region.least
            mine = list(compress(mine, inside))
        else:
            mine = [one for one in mine if one.topic == self.merged.get(problem.topic, problem.topic)]
        return sorted(mine, key=lambda one: one.started_at)


class Problems:
    def __init__(self, store: Store, topics: Topics) -> None:
        self._store, self._topics = store, topics

    def all(self, seconds: float = inf) -> list[RecurringProblem]:
        """Sort what waits, for so many seconds at most, and list the problems as they are then: open ones first."""
        self._topics.refresh(seconds)
        self.look()
        view = self._store.read(_View)
        listed = [_describe(view, problem) for problem in view.problems]
        return sorted(listed, key=lambda one: (one.state is ProblemState.FIXED, -one.count, one.id))

    def look(self) -> None:
        """Open, close and reopen problems by what was sorted."""
        view = self._store.read(_View)
        passed = self._store.read(_list_passed, view.problems)
        changed = [*passed, *_look(view, [one for one in view.problems if one.id not in {row.id for row in passed}])]
        if changed:
            self._store.write(write_problems, changed)

    def get(self, problem: int) -> RecurringProblem:
        """Read one problem."""
        self._store.read(get_problem, problem)
        view = self._store.read(_View)
        return next(_describe(view, one) for one in view.problems if one.id == problem)

    def fix(self, problem: int, who: str) -> RecurringProblem:
        """Note that a person fixed a problem; it opens itself again when it comes back."""
        with self._store.db.read() as connection:
            row, moment = get_problem(connection, problem), newest_start(connection)
        fixed = row._replace(state=ProblemState.FIXED.value, decided=who, decided_at=moment or "")
        self._store.write(write_problems, [fixed])
        return self.get(problem)

    def note_cases(self, problem: int, dataset: str) -> None:
        """Note which dataset holds the regression cases of a problem."""
        self._store.write(write_problems, [self._store.read(get_problem, problem)._replace(dataset=dataset)])


def _list_passed(connection: Connection, problems: Iterable[ProblemRow]) -> list[ProblemRow]:
    """Close the problems whose cases a run has passed since they were opened."""
    closed = []
    for one in problems:
        if one.dataset and one.state != ProblemState.FIXED:
            run = passed_run(connection, one.dataset, one.decided_at or "")
            if run is not None:
                closed.append(one._replace(state=ProblemState.FIXED.value, decided=f"run {run[0]}", decided_at=run[1]))
    return closed


def _look(view: _View, problems: Sequence[ProblemRow]) -> list[ProblemRow]:
    """Find what is new and what came back, and let the regions of open problems follow their failures."""
    if view.ground is None:
        return []
    changed: list[ProblemRow] = []
    reasons = sorted({one.reason for one in view.failures})
    for reason in reasons:
        held = {one.trace_id for one in view.failures if one.reason == reason}
        failing = np.array([one.trace_id in held for one in view.traffic], dtype=bool)
        before = [one for one in problems if one.reason == reason]
        after = [_follow(view, view.ground, one, failing) for one in before]
        explained = np.zeros(len(failing), dtype=bool)
        for one in after:
            settled = view.began <= (one.decided_at or "") if one.state == ProblemState.FIXED else True
            for region in map(_read_region, one.regions):
                explained |= view.ground.around(region) & settled
        for window in WINDOWS:
            recent = view.since(window)
            while dense := view.ground.find(recent & ~explained, failing, LEVEL / len(WINDOWS) / len(reasons)):
                _add_region(view, view.ground, dense, failing & recent & ~explained, reason, after)
                explained |= view.ground.around(dense)
        changed += [one for one in after if one not in before]
    return changed


def _follow(view: _View, ground: Ground, problem: ProblemRow, failing: Mask) -> ProblemRow:
    """Fit the regions of an open problem to its failures, and reopen one whose failures came back since it was fixed."""
    regions = [_read_region(one) for one in problem.regions]
    if problem.state == ProblemState.FIXED:
        since = view.began > (problem.decided_at or "")
        for region in regions:
            for window in WINDOWS:
                recent = since & view.since(window)
                if ground.returns(region, recent, failing, FEWEST_AGAIN, LEVEL / len(WINDOWS)):
                    return _reopen(view, problem)
        return problem
    fitted = []
    for region in regions:
        inside = failing & (ground.nearness(region) >= region.least)
        for window, fewest in zip(WINDOWS, (FEWEST, FEWEST_AGAIN), strict=True):
            recent = view.since(window)
            if (inside & recent).sum() >= fewest:
                fitted.append(_write_region(ground.fit(recent, failing, np.flatnonzero(inside & recent))))
                break
        else:
            fitted.append(_write_region(region))
    return problem._replace(regions=tuple(fitted))


def _reopen(view: _View, problem: ProblemRow) -> ProblemRow:
    return problem._replace(state=ProblemState.REOPENED.value, decided="", decided_at=str(stamp(view.end)))


def _add_region(
    view: _View, ground: Ground, region: Region, failing: Mask, reason: str, problems: list[ProblemRow]
) -> None:
    """Make a region part of a problem that it is like or shares the topic of, else a problem of its own."""
    inside = failing & (ground.nearness(region) >= region.least)
    topics = Counter(one.topic for one in compress(view.traffic, inside) if one.topic is not None)
    topic = topics.most_common(1)[0][0] if topics else None  # that most of its traces are in
    like = [
        (max((ground.alike(region, _read_region(one)) for one in problem.regions), default=-1.0), number)
        for number, problem in enumerate(problems)
    ]
    nearest, chosen = max(like, default=(-1.0, None))
    if nearest < ALIKE:
        chosen = next((n for n, one in enumerate(problems) if view.merged.get(one.topic, one.topic) == topic), None)
    if chosen is not None:
        grown = problems[chosen]._replace(regions=(*problems[chosen].regions, _write_region(region)))
        problems[chosen] = _reopen(view, grown) if grown.state == ProblemState.FIXED else grown
    elif topic is not None:
        problems.append(
            ProblemRow(NEW, topic, reason, ProblemState.OPEN.value, None, "", "", "", (_write_region(region),))
        )


def _read_region(written: tuple[str, float]) -> Region:
    return Region(from_text(written[0], 1)[:, 0], written[1])


def _write_region(region: Region) -> tuple[str, float]:
    return to_text(region.centre), round(region.least, 4)


def _describe(view: _View, problem: ProblemRow) -> RecurringProblem:
    """Describe a problem with what happened in the last 90 days."""
    mine, topic = view.occurrences(problem), view.merged.get(problem.topic, problem.topic)
    bounds = [str(stamp(view.end - timedelta(weeks=weeks))) for weeks in range(TREND_WEEKS, 0, -1)] + ["~"]
    return RecurringProblem(
        id=problem.id,
        topic=topic,
        name=next((row.name for row in view.topics if row.id == topic), ""),
        reason=problem.reason,
        count=len(mine),
        first_seen=mine[0].started_at if mine else problem.created_at,
        last_seen=mine[-1].started_at if mine else problem.created_at,
        trend=[sum(low < one.started_at <= high for one in mine) for low, high in pairwise(bounds)],
        state=ProblemState(problem.state),
        dataset=problem.dataset,
        traces=[one.trace_id for one in reversed(mine[-SHOWN_TRACES:])],
    )


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
