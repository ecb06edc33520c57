"""What is in a workspace after a campaign, read by the library itself."""

from collections import Counter
from pathlib import Path

from evergold.settings import Settings
from evergold.store.trace_pages import TraceFilter
from evergold.workspace import Workspace
from perf.faults.server import Summary

PAGE = 500


def check_stored(home: Path, database_url: str, summary: Summary) -> None:
    """Count what was acknowledged and is not there, and what is there twice."""
    found: Counter[str] = Counter()
    with Workspace.open(Settings(home=home, database_url=database_url)) as workspace:
        cursor: str | None = None
        while True:
            page, cursor = workspace.intake.page(TraceFilter(), limit=PAGE, before=cursor)
            found.update(trace.id for trace in page)
            if cursor is None:
                break
    summary.lost = len(summary.acknowledged - found.keys())
    summary.doubled = sum(number - 1 for number in found.values())
