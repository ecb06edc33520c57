"""The overview for the first page, remembered for a while: ten open browsers cost one look at the tables.

How long depends on what the look cost, so that over a huge store the page grows older rather than the server slower.
"""

import threading
import time
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from evergold.store import Store
from evergold.store.overview import Bucket, Facets, Overview, facets_of, overview_of
from evergold.store.values import stamp

FRESH_SECONDS = 4.0
REST_FOR_WORK = 20
FAILING_BELOW = 0.3


class Period(StrEnum):
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    QUARTER = "90d"
    YEAR = "365d"


LENGTH = {
    Period.DAY: timedelta(hours=24),
    Period.WEEK: timedelta(days=7),
    Period.MONTH: timedelta(days=30),
    Period.QUARTER: timedelta(days=90),
    Period.YEAR: timedelta(days=365),
}


class Overviews:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._held: dict[Period, tuple[float, Overview]] = {}

    def over(self, period: Period) -> Overview:
        """What began within the period that ends now."""
        with self._lock:
            good_until, held = self._held.get(period, (0.0, None))
            began = time.monotonic()
            if held is None or began >= good_until:
                held = self._look(period)
                done = time.monotonic()
                self._held[period] = (done + max(FRESH_SECONDS, REST_FOR_WORK * (done - began)), held)
            return held

    def facets(self) -> Facets:
        with self._store.db.read() as connection:
            return facets_of(connection)

    def _look(self, period: Period) -> Overview:
        since = str(stamp(datetime.now(UTC) - LENGTH[period]))
        bucket = Bucket.HOUR if period is Period.DAY else Bucket.DAY
        with self._store.db.read() as connection:
            return overview_of(connection, since=since, bucket=bucket, failing_below=FAILING_BELOW)
