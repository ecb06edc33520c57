"""Which days of which archive a verb works on. Commands load it at their start, so it imports nothing large."""

from pathlib import Path
from typing import NamedTuple, Self


class ArchivedDays(NamedTuple):
    """The days of an archive that a verb works on; without a bound, all of them."""

    source: str | Path
    since: str | None = None
    until: str | None = None

    @classmethod
    def between(cls, source: str | Path, since: str | None, until: str | None) -> Self:
        """Read bounds as people write them; a filter reads times in every spelling, and names one that is none."""
        from evergold.store.trace_filter import TraceFilter

        given = TraceFilter(since=since, until=until)
        return cls(source, given.since, given.until)
