"""How much of the traffic the set covers, what it lacks, and whether the traffic has changed.

Drift compares the topics of the last 7 days with those of the 28 days before. Its threshold comes from the traffic itself: the
sessions of both periods are dealt out again at random many times, and one deal in fifty lies beyond the threshold. A look
a week then alarms in fewer than one of twenty weeks in which nothing changed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evergold.model.upkeep import CoverageWeek, Drift, TopicCoverage, TopicGap
from evergold.stats.scores import mean_score
from evergold.store import Store
from evergold.store.database.rows import stamp
from evergold.store.facts import put_fact
from evergold.store.topics import (
    COVERAGE,
    TopicTrace,
    count_topics,
    members_of,
    newest_start,
    read_topics,
    traffic_by_day,
    traffic_of_topics,
)
from evergold.upkeep.topics import ENOUGH_GOLDEN, Topics

RECENT, BEFORE = timedelta(days=7), timedelta(days=28)
WEEKS = 12
MOST_TRACES = 50_000  # the newest of the period that figures are computed from
DEALS = 400
BEYOND = 0.98
FEWEST_TRACES = 50  # of either period: fewer say nothing
RARE = 5  # traces of both periods together: topics of fewer count as one
SHOWN_GAPS = 50
NOTHING_FAILS = 0.01  # added to the share of failures, so that gaps without any are ranked by their traffic

Counts = NDArray[np.float64]


class SetCoverage:
    def __init__(self, store: Store, topics: Topics) -> None:
        self._store, self._topics = store, topics

    def measure(self, seconds: float = inf) -> TopicCoverage:
        """Sort what waits, for so many seconds at most, and measure."""
        self._topics.refresh(seconds)
        return self._store.read(measure_coverage)

    def keep(self) -> None:
        """Measure, and keep the figures that alerts are held against."""
        measured = self._store.read(measure_coverage)
        self._store.write(put_fact, COVERAGE, measured.model_dump_json(exclude={"weeks", "gaps"}))

    def gap_traces(self, most: int) -> list[str]:
        """Choose traces of the gaps that are no cases yet, in turn from each gap, the largest gap first."""
        gaps = self.measure().gaps
        with self._store.db.read() as connection:
            columns = [members_of(connection, gap.topic, most, without_cases=True) for gap in gaps]
        turns = (column[turn] for turn in range(most) for column in columns if turn < len(column))
        return [trace for trace, _ in zip(turns, range(most), strict=False)]


def measure_coverage(connection: Any) -> TopicCoverage:
    """Measure coverage, drift and distance, and list the gaps; the period ends with the newest trace.

    Where no topics are known yet, neither is what is covered.
    """
    if not read_topics(connection):
        unknown = Drift(value=None, threshold=None, alarm=False)
        return TopicCoverage(share=None, low=None, high=None, weeks=[], distance=None, drift=unknown, gaps=[])
    newest = newest_start(connection)
    end = datetime.now(UTC) if newest is None else min(datetime.now(UTC), datetime.fromisoformat(newest))
    golden = {topic: held.golden for topic, held in count_topics(connection).items() if held.golden}
    covered = {topic for topic, number in golden.items() if number >= ENOUGH_GOLDEN}
    traffic = traffic_of_topics(connection, str(stamp(end - RECENT - BEFORE)), MOST_TRACES)
    month = str(stamp(end - BEFORE))
    recent = [trace for trace in traffic if trace.started_at >= month]
    share = mean_score(
        [float(trace.topic in covered) for trace in recent], groups=[trace.session for trace in recent] or None
    )
    asked = Counter(trace.topic for trace in recent)
    return TopicCoverage(
        share=share.value,
        low=share.low,
        high=share.high,
        weeks=_weeks(traffic_by_day(connection, str(stamp(end - timedelta(weeks=WEEKS)))), covered),
        distance=_distance(golden, asked),
        drift=measure_drift(traffic, str(stamp(end - RECENT))),
        gaps=_gaps(connection, month, covered),
    )


def _weeks(days: Iterable[tuple[str, int | None, int]], covered: set[int]) -> list[CoverageWeek]:
    traces, inside = Counter[str](), Counter[str]()
    for day, topic, number in days:
        date = datetime.fromisoformat(day).date()
        monday = (date - timedelta(days=date.weekday())).isoformat()
        traces[monday] += number
        inside[monday] += number * (topic in covered)
    return [CoverageWeek(week=week, traces=traces[week], share=inside[week] / traces[week]) for week in sorted(traces)]


def _gaps(connection: Any, since: str, covered: set[int]) -> list[TopicGap]:
    names = {row.id: row.name for row in read_topics(connection)}
    gaps = []
    for topic, held in count_topics(connection, since).items():
        if topic in covered or not held.traces:
            continue
        share = held.failures / held.traces
        cases = f"{held.golden} of {ENOUGH_GOLDEN} golden cases"
        why = f"{held.traces} traces in 28 days, {share:.0%} of them fail; {cases}, {held.candidates} candidates wait"
        gaps.append(TopicGap(topic=topic, name=names[topic], traces=held.traces, failure_share=share, why=why))
    gaps.sort(key=lambda gap: (-gap.traces * (gap.failure_share + NOTHING_FAILS), gap.topic))
    return gaps[:SHOWN_GAPS]


def _distance(golden: Mapping[int, int], asked: Mapping[int | None, int]) -> float | None:
    if not golden or not asked:
        return None
    topics = sorted(golden.keys() | asked.keys(), key=str)
    counts = [(golden.get(topic or 0, 0), asked.get(topic, 0)) for topic in topics]
    return float(divergence(*np.array(counts, dtype=np.float64).T))


def divergence(one: Counts, other: Counts) -> Counts:
    """Give the Jensen–Shannon distance of counts along the last axis: 0 where the shares are the same, 1 where none is shared."""
    p, q = (side / np.maximum(side.sum(axis=-1, keepdims=True), 1) for side in (one, other))
    middle = (p + q) / 2
    parts = [
        np.where(side > 0, side * np.log2(np.where(side > 0, side / np.maximum(middle, 1e-300), 1)), 0)
        for side in (p, q)
    ]
    squared: Counts = np.maximum((parts[0] + parts[1]).sum(axis=-1) / 2, 0)
    return np.sqrt(squared)


def measure_drift(traffic: Sequence[TopicTrace], since: str) -> Drift:
    """Compare the topics of traces since then with those before, by a permutation of sessions."""
    late = np.array([trace.started_at >= since for trace in traffic], dtype=bool)
    if min(late.sum(), (~late).sum(), len(traffic)) < FEWEST_TRACES:
        return Drift(value=None, threshold=None, alarm=False)
    _, topics = np.unique([trace.topic or 0 for trace in traffic], return_inverse=True)
    sizes = np.bincount(topics)
    # Topics of few traces are taken together: their shares say little and would drown the others.
    topics = np.where(sizes[topics] < RARE, 0, topics + 1)
    _, topics = np.unique(topics, return_inverse=True)
    _, sessions = np.unique([trace.session for trace in traffic], return_inverse=True)
    width = int(topics.max()) + 1
    every = np.bincount(topics, minlength=width).astype(np.float64)
    seen = np.bincount(topics[late], minlength=width).astype(np.float64)
    value = float(divergence(seen, every - seen))
    random = np.random.default_rng(0)
    dealt = np.empty((DEALS, width))
    for deal in range(DEALS):
        # Whole sessions, because the traces of one are about the same thing.
        order = random.permutation(int(sessions.max()) + 1)[sessions]
        chosen = np.argpartition(order, int(late.sum()) - 1)[: int(late.sum())]
        dealt[deal] = np.bincount(topics[chosen], minlength=width)
    threshold = float(np.quantile(divergence(dealt, every - dealt), BEYOND))
    return Drift(value=value, threshold=threshold, alarm=value > threshold)
