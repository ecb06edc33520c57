"""The traffic of a period, day by day: what a day's traces sum up to is remembered, and periods are sums of days.

A day is counted anew after a rest that depends on what counting it cost: today and yesterday often, older days seldom, since
only late spans, checks and erasure change those. So the page stays fast over a million traces, and the server too.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

from pydantic import BaseModel

from evergold.model.traffic import CheckBucket, CheckOverTime, Grouping, TrafficBucket, TrafficFigures, TrafficGroup
from evergold.store import Store
from evergold.store.overview import Bucket
from evergold.store.traffic import (
    CheckCell,
    Stretch,
    TrafficCell,
    check_cells,
    first_trace,
    frequent_values,
    traffic_cells,
)
from evergold.store.values import stamp

FRESH_SECONDS = 4.0
REST_OF_NEW, REST_OF_OLD = 20, 2000  # rest for the work of counting a day
NEW_DAYS = 2
SHOWN_CHECKS = 12
PERCENTS = (50, 95, 99)
DAY = timedelta(days=1)


class Traffic(BaseModel):
    """Figures of whole hours or days up to now: of all traces, of each model or name, and of the checks that fail most."""

    since: str
    bucket: Bucket
    by: Grouping
    total: TrafficGroup
    groups: list[TrafficGroup]
    checks: list[CheckOverTime]


class _Counted(NamedTuple):
    """What one day was counted as, and until when that is good enough."""

    traffic: tuple[TrafficCell, ...]
    checks: tuple[CheckCell, ...]
    good_until: float


class TrafficWatch:
    """Counts the traffic of periods that end now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._days: dict[tuple[Grouping, Bucket, str], _Counted] = {}

    def over(self, length: timedelta, by: Grouping, bucket: Bucket) -> Traffic:
        """Count the traffic since the beginning of the hour or day that lies so long ago."""
        now = datetime.now(UTC)
        since = str(stamp(_floor(now - length, bucket)))
        with self._lock:
            days = self._counted(since, now, by, bucket)
        traffic = [cell for day in days for cell in day.traffic if cell.start >= since[: bucket.letters]]
        checks = [cell for day in days for cell in day.checks if cell.start >= since[: bucket.letters]]
        return summed(since, bucket, by, traffic, checks)

    def _counted(self, since: str, now: datetime, by: Grouping, bucket: Bucket) -> list[_Counted]:
        with self._store.db.read() as connection:
            values = frequent_values(connection, by)
            first = max(since, first_trace(connection) or since)
            day = datetime.fromisoformat(first[:10]).replace(tzinfo=UTC)
            result = []
            while day <= now:
                name = day.date().isoformat()
                held = self._days.get((by, bucket, name))
                began = time.monotonic()
                if held is None or began >= held.good_until:
                    stretch = Stretch(str(stamp(day)), str(stamp(day + DAY)), bucket)
                    cells = traffic_cells(connection, stretch, by, values)
                    checks = check_cells(connection, stretch, by, values)
                    done = time.monotonic()
                    rest = REST_OF_NEW if now - day < NEW_DAYS * DAY else REST_OF_OLD
                    held = _Counted(cells, checks, done + max(FRESH_SECONDS, rest * (done - began)))
                    self._days[by, bucket, name] = held
                result.append(held)
                day += DAY
            return result


def summed(
    since: str, bucket: Bucket, by: Grouping, traffic: Sequence[TrafficCell], checks: Sequence[CheckCell]
) -> Traffic:
    """Add the cells of days up, as a whole and by group; the groups with most traces come first, all others last."""
    cells: dict[str | None, list[TrafficCell]] = {}
    for cell in traffic:
        cells.setdefault(cell.group, []).append(cell)
    scores: dict[str | None, list[CheckCell]] = {}
    for score in checks:
        scores.setdefault(score.group, []).append(score)
    groups = [_group(value, own, scores.get(value, [])) for value, own in cells.items()]
    groups.sort(key=lambda group: (group.value is None, -group.figures.traces, group.value))
    return Traffic(
        since=since,
        bucket=bucket,
        by=by,
        total=_group(None, traffic, checks),
        groups=groups,
        checks=_over_time(checks),
    )


def _group(value: str | None, traffic: Sequence[TrafficCell], checks: Sequence[CheckCell]) -> TrafficGroup:
    cells: dict[str, list[TrafficCell]] = {}
    for cell in traffic:
        cells.setdefault(cell.start, []).append(cell)
    scores: dict[str, list[CheckCell]] = {}
    for score in checks:
        scores.setdefault(score.start, []).append(score)
    buckets = [
        TrafficBucket(start=start, **_figures(cells[start], scores.get(start, [])).model_dump())
        for start in sorted(cells)
    ]
    return TrafficGroup(value=value, figures=_figures(traffic, checks), buckets=buckets)


def _figures(traffic: Iterable[TrafficCell], checks: Iterable[CheckCell]) -> TrafficFigures:
    traces = failed = tokens = 0
    cost = 0.0
    bins = Counter[int]()
    for cell in traffic:
        traces += cell.traces
        failed += cell.failed
        tokens += cell.tokens
        cost += cell.cost
        if cell.bin is not None:
            bins[cell.bin] += cell.traces
    scored = failing = 0
    for score in checks:
        scored += score.scored
        failing += score.failing
    percentiles = dict(zip(("p50", "p95", "p99"), percentiles_of(bins), strict=True))
    return TrafficFigures(
        traces=traces, failed=failed, tokens=tokens, cost=cost, scored=scored, failing=failing, **percentiles
    )


def percentiles_of(bins: Counter[int]) -> list[int | None]:
    """The latencies that so many per cent of the traces do not exceed, each as the beginning of its bin."""
    ordered = sorted(bins)
    upto = list(accumulate(bins[least] for least in ordered))
    if not ordered:
        return [None for _ in PERCENTS]
    ranks = [-(-upto[-1] * percent // 100) for percent in PERCENTS]  # rounded up
    return [next(least for least, number in zip(ordered, upto, strict=True) if number >= rank) for rank in ranks]


def _over_time(checks: Iterable[CheckCell]) -> list[CheckOverTime]:
    """The checks that failed most often; those that never failed are left out."""
    counts: dict[tuple[str, str], dict[str, list[int]]] = {}
    for cell in checks:
        held = counts.setdefault((cell.name, cell.source), {}).setdefault(cell.start, [0, 0])
        held[0] += cell.scored
        held[1] += cell.failing
    results = [
        CheckOverTime(
            name=name,
            source=source,
            scored=sum(scored for scored, _ in starts.values()),
            failing=sum(failing for _, failing in starts.values()),
            buckets=[
                CheckBucket(start=start, scored=scored, failing=failing)
                for start, (scored, failing) in sorted(starts.items())
            ],
        )
        for (name, source), starts in counts.items()
    ]
    failing = [check for check in results if check.failing]
    return sorted(failing, key=lambda check: (-check.failing, check.name, check.source))[:SHOWN_CHECKS]


def _floor(moment: datetime, bucket: Bucket) -> datetime:
    whole = moment.replace(minute=0, second=0, microsecond=0)
    return whole if bucket is Bucket.HOUR else whole.replace(hour=0)
