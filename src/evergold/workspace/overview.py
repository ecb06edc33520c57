"""The overview for the first page, remembered for a while: ten open browsers cost one look at the tables.

How long depends on what the look cost, so that over a huge store the page grows older rather than the server slower. A look
and the count of the traffic behind it are each kept for 20 seconds at most: no figure is older than a minute.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Generic, TypeVar

from evergold.model.overview import Bucket, Grouping, Overview, Period, Traffic
from evergold.model.policy import KeptOut
from evergold.store import Store, make_reader
from evergold.store.database.rows import stamp
from evergold.store.trace.overview import facets_of, overview_of
from evergold.upkeep.traffic import LONGEST_REST, TrafficWatch, start_of
from evergold.workspace.live import Live

T = TypeVar("T")
Aged = TypeVar("Aged", Overview, Traffic)

FRESH_SECONDS = 4.0
REST_FOR_WORK = 20


class _Remembered(Generic[T]):
    """Looks, by period, each good for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Period, tuple[float, T]] = {}

    def get(self, period: Period, look: Callable[[Period], T]) -> T:
        # The lock is held during the look: others wait for its result instead of starting the same look.
        with self._lock:
            good_until, held = self._held.get(period, (0.0, None))
            began = time.monotonic()
            if held is None or began >= good_until:
                held = look(period)
                done = time.monotonic()
                rest = min(REST_FOR_WORK * (done - began), LONGEST_REST)
                self._held[period] = (done + max(FRESH_SECONDS, rest), held)
            return held


def _with_age(held: Aged) -> Aged:
    if held.as_of is None:
        return held
    return held.model_copy(update={"age": (datetime.now(UTC) - datetime.fromisoformat(held.as_of)).total_seconds()})


def _bucket(period: Period) -> Bucket:
    return Bucket.HOUR if period is Period.DAY else Bucket.DAY


class Overviews:
    facets = make_reader(facets_of)

    def __init__(self, store: Store, live: Live) -> None:
        self._store, self._live = store, live
        self._overviews = _Remembered[Overview]()
        self._kept_out = _Remembered[KeptOut]()
        self._traffic = TrafficWatch(store)

    def read_period(self, period: Period) -> Overview:
        """What began within the period that ends now, from the beginning of its first hour or day."""
        return _with_age(self._overviews.get(period, self._look))

    def kept_out(self, period: Period) -> KeptOut:
        """What keeps the traces of the period out of the golden set."""
        return self._kept_out.get(
            period, lambda chosen: self._live.kept_out(str(stamp(datetime.now(UTC) - chosen.length)))
        )

    def traffic(self, period: Period, by: Grouping) -> Traffic:
        """Cost, tokens, latency, failures and checks over the period, by model or by name."""
        return _with_age(self._traffic.read_period(period.length, by, _bucket(period)))

    def _look(self, period: Period) -> Overview:
        as_of, bucket = stamp(self._traffic.refresh()), _bucket(period)
        since = str(stamp(start_of(datetime.now(UTC) - period.length, bucket)))
        return self._store.read(overview_of, since=since, bucket=bucket, as_of=as_of)
