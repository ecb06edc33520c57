"""The traffic of a period, from what was counted by hour and by day.

Hours that changed since they were counted are counted again before anything is read: figures are those of the traces there
are, or, while another program holds the database, those of the last count. Only where counting takes long, because very many
traces come in an hour, it is followed by a rest. It reads beside the writer, so that intake waits only while results are kept.
"""

import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

from evergold.errors import Unavailable
from evergold.model.overview import (
    Bucket,
    CheckBucket,
    CheckOverTime,
    Grouping,
    Traffic,
    TrafficBucket,
    TrafficFigures,
    TrafficGroup,
)
from evergold.store import Store
from evergold.store.database.rows import stamp
from evergold.store.trace.traffic import (
    CheckCell,
    TrafficSums,
    check_cells,
    count_hours,
    frequent_values,
    keep_hours,
    traffic_cells,
)
from evergold.store.traffic_marks import anything_new, take_hours

HOURS_AT_ONCE = 24  # hours that are kept in one transaction
MANY, LONGEST_REST = 20_000, 20.0  # traces that are counted without a rest; the longest rest in seconds
REST_OF_TRACE = 2e-4  # seconds: twenty times what counting it takes
HELD_REST = 20.0  # seconds before a database that another program holds is asked to write again
SHOWN_CHECKS = 12
PERCENTS = (50, 95, 99)
Starts = defaultdict[str, TrafficSums]  # by hour or day


class TrafficWatch:
    """Counts the traffic of periods that end now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._good_until = self._leisure_from = 0.0
        self._counted_at: datetime | None = None

    def read_period(self, length: timedelta, by: Grouping, bucket: Bucket) -> Traffic:
        """Give the traffic since the beginning of the hour or day that lies so long ago."""
        as_of = self.refresh()
        since = str(stamp(start_of(datetime.now(UTC) - length, bucket)))
        with self._store.db.read() as connection:
            values = frequent_values(connection, by)
            checks = check_cells(connection, since, by, bucket, values)
            by_group: defaultdict[str | None, Starts] = defaultdict(lambda: defaultdict(TrafficSums))
            for start, group, sums in traffic_cells(connection, since, by, bucket, values):
                by_group[group][start].add(sums)
        for cell in checks:
            by_group[cell.group][cell.start].add(TrafficSums(scored=cell.scored, failing=cell.failing))
        every: Starts = defaultdict(TrafficSums)
        for starts in by_group.values():
            for start, sums in starts.items():
                every[start].add(sums)
        groups = [_group(value, starts) for value, starts in by_group.items()]
        # The groups with most traces come first, all other values last.
        groups.sort(key=lambda group: (group.value is None, -group.figures.traces, group.value))
        return Traffic(
            as_of=stamp(as_of),
            since=since,
            bucket=bucket,
            by=by,
            total=_group(None, every),
            groups=groups,
            checks=_over_time(checks),
        )

    def refresh(self) -> datetime | None:
        """Count every hour again that changed since it was counted; returns of when the figures are, None if nobody knows."""
        # The lock lets others wait for the result instead of counting the same hours.
        with self._lock:
            if time.monotonic() < self._good_until:
                return self._counted_at
            began, traces, more = datetime.now(UTC), 0, True
            while more:
                try:
                    number, more = self._refresh_some()
                except Unavailable:
                    # Another program holds the database: the figures are those of the last count, and reading goes on.
                    self._good_until = time.monotonic() + HELD_REST
                    return self._counted_at
                traces += number
            if traces > MANY:
                self._good_until = time.monotonic() + min(REST_OF_TRACE * traces, LONGEST_REST)
            self._counted_at = began
            return began

    def at_leisure(self) -> bool:
        """Count some hours so that nobody has to wait for them; whether there are more. Then it rests for a while."""
        with self._lock:
            if time.monotonic() < self._leisure_from:
                return False
            _, more = self._refresh_some()
            if not more:
                self._leisure_from = time.monotonic() + LONGEST_REST
            return more

    def _refresh_some(self) -> tuple[int, bool]:
        """Count some of the hours that changed: how many traces they hold, and whether there may be more of them."""
        with self._store.db.read() as connection:
            if not anything_new(connection):
                return 0, False
        taken, more = self._store.write(take_hours, HOURS_AT_ONCE)
        counted = self._store.read(count_hours, taken)
        kept = self._store.write(keep_hours, counted, taken)
        return counted.traces, more or not kept


def _group(value: str | None, starts: Starts) -> TrafficGroup:
    total = TrafficSums()
    for sums in starts.values():
        total.add(sums)
    buckets = [TrafficBucket(start=start, **_figures(starts[start])) for start in sorted(starts)]
    return TrafficGroup(value=value, figures=TrafficFigures(**_figures(total)), buckets=buckets)


def _figures(sums: TrafficSums) -> dict[str, Any]:
    known = {
        "cost": sums.cost if sums.costed else None,
        "cost_known": sums.costed / sums.traces if sums.traces else None,
    }
    percentiles = dict(zip(("p50", "p95", "p99"), percentiles_of(sums.latencies), strict=True))
    return (
        {name: getattr(sums, name) for name in ("traces", "failed", "tokens", "scored", "failing")}
        | known
        | percentiles
    )


def percentiles_of(latencies: Mapping[int, int]) -> list[int | None]:
    """The latencies that so many per cent of the traces do not exceed, each as the beginning of its bin."""
    ordered = sorted(latencies)
    upto = list(accumulate(latencies[least] for least in ordered))
    # Rounded up.
    return [ordered[bisect_left(upto, -(-upto[-1] * percent // 100))] if upto else None for percent in PERCENTS]


def _over_time(checks: Iterable[CheckCell]) -> list[CheckOverTime]:
    """The checks that failed most often; those that never failed are left out."""
    counts: defaultdict[tuple[str, str], Starts] = defaultdict(lambda: defaultdict(TrafficSums))
    for cell in checks:
        counts[cell.name, cell.source][cell.start].add(TrafficSums(scored=cell.scored, failing=cell.failing))
    results: list[CheckOverTime] = []
    for (name, source), starts in counts.items():
        scored, failing = (sum(getattr(one, kind) for one in starts.values()) for kind in ("scored", "failing"))
        buckets = [
            CheckBucket(start=start, scored=of.scored, failing=of.failing) for start, of in sorted(starts.items())
        ]
        if failing:
            results.append(CheckOverTime(name=name, source=source, scored=scored, failing=failing, buckets=buckets))
    return sorted(results, key=lambda check: (-check.failing, check.name, check.source))[:SHOWN_CHECKS]


def start_of(moment: datetime, bucket: Bucket) -> datetime:
    """The beginning of the hour or day in which a moment lies."""
    whole = moment.replace(minute=0, second=0, microsecond=0)
    return whole if bucket is Bucket.HOUR else whole.replace(hour=0)
