"""The traffic of a period, from what was counted by hour and by day.

Hours that changed since they were counted are counted again before anything is read: figures are those of the traces there
are, or, while another program holds the database, those of the last count. Only where counting takes long, because very many
traces come in an hour, it is followed by a rest. It reads beside the writer, so that intake waits only while results are kept.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

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
    Bins,
    CheckCell,
    TrafficCell,
    bins_of,
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
NONE = bins_of("[]")


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
            traffic = traffic_cells(connection, since, by, bucket, values)
            checks = check_cells(connection, since, by, bucket, values)
        return add_up(as_of, since, bucket, by, traffic, checks)

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


@dataclass
class TrafficSums:
    """Sums over some traces and their scores, to which further ones are added."""

    traces: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
    costed: int = 0
    scored: int = 0
    failing: int = 0
    bins: list[Bins] = field(default_factory=list)

    def add(self, other: "TrafficSums") -> None:
        for name in ("traces", "failed", "tokens", "cost", "costed", "scored", "failing"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.bins += other.bins

    def figures(self) -> dict[str, Any]:
        percentiles = dict(zip(("p50", "p95", "p99"), percentiles_of(self.bins), strict=True))
        sums = {name: value for name, value in vars(self).items() if name not in ("bins", "cost", "costed")}
        known = {
            "cost": self.cost if self.costed else None,
            "cost_known": self.costed / self.traces if self.traces else None,
        }
        return sums | known | percentiles


def add_up(
    as_of: datetime | None,
    since: str,
    bucket: Bucket,
    by: Grouping,
    traffic: Sequence[TrafficCell],
    checks: Sequence[CheckCell],
) -> Traffic:
    """Add the cells of hours or days up, as a whole and by group; the groups with most traces come first, all others last."""
    by_group: dict[str | None, dict[str, TrafficSums]] = {}
    for cell in traffic:
        sums = by_group.setdefault(cell.group, {}).setdefault(cell.start, TrafficSums())
        sums.add(TrafficSums(*cell[2:7], bins=[cell.latencies]))
    for check in checks:
        sums = by_group.setdefault(check.group, {}).setdefault(check.start, TrafficSums())
        sums.add(TrafficSums(scored=check.scored, failing=check.failing))
    groups = [_group(value, starts) for value, starts in by_group.items()]
    groups.sort(key=lambda group: (group.value is None, -group.figures.traces, group.value))
    every: dict[str, TrafficSums] = {}
    for starts in by_group.values():
        for start, sums in starts.items():
            every.setdefault(start, TrafficSums()).add(sums)
    return Traffic(
        as_of=stamp(as_of),
        since=since,
        bucket=bucket,
        by=by,
        total=_group(None, every),
        groups=groups,
        checks=_over_time(checks),
    )


def _group(value: str | None, starts: Mapping[str, TrafficSums]) -> TrafficGroup:
    total = TrafficSums()
    for sums in starts.values():
        total.add(sums)
    buckets = [TrafficBucket(start=start, **starts[start].figures()) for start in sorted(starts)]
    return TrafficGroup(value=value, figures=TrafficFigures(**total.figures()), buckets=buckets)


def percentiles_of(bins: Sequence[Bins]) -> list[int | None]:
    """The latencies that so many per cent of the traces do not exceed, each as the beginning of its bin."""
    every = np.concatenate(bins) if bins else NONE
    if not len(every):
        return [None for _ in PERCENTS]
    ordered = every[every[:, 0].argsort(kind="stable")]
    upto = ordered[:, 1].cumsum()
    ranks = [-(-int(upto[-1]) * percent // 100) for percent in PERCENTS]  # rounded up
    return [int(ordered[at, 0]) for at in upto.searchsorted(ranks)]


def _over_time(checks: Iterable[CheckCell]) -> list[CheckOverTime]:
    """The checks that failed most often; those that never failed are left out."""
    counts: dict[tuple[str, str], dict[str, list[int]]] = {}
    for cell in checks:
        held = counts.setdefault((cell.name, cell.source), {}).setdefault(cell.start, [0, 0])
        held[0] += cell.scored
        held[1] += cell.failing
    results: list[CheckOverTime] = []
    for (name, source), starts in counts.items():
        scored, failing = map(sum, zip(*starts.values(), strict=True))
        buckets = [CheckBucket(start=start, scored=of, failing=bad) for start, (of, bad) in sorted(starts.items())]
        if failing:
            results.append(CheckOverTime(name=name, source=source, scored=scored, failing=failing, buckets=buckets))
    return sorted(results, key=lambda check: (-check.failing, check.name, check.source))[:SHOWN_CHECKS]


def start_of(moment: datetime, bucket: Bucket) -> datetime:
    """The beginning of the hour or day in which a moment lies."""
    whole = moment.replace(minute=0, second=0, microsecond=0)
    return whole if bucket is Bucket.HOUR else whole.replace(hour=0)
