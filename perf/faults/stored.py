"""What is in a workspace after a campaign."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import select

from evergold.settings import Settings
from evergold.store.schema import traces
from evergold.workspace import Workspace
from perf.faults.server import Summary


def ids_stored(home: Path, database_url: str = "") -> Iterator[str]:
    """Give the id of every stored trace."""
    with (
        Workspace.open(Settings(home=home, database_url=database_url)) as workspace,
        workspace.store.db.read() as connection,
    ):
        yield from connection.execution_options(yield_per=10_000).execute(select(traces.c.id)).scalars()


def check_stored(home: Path, database_url: str, summary: Summary) -> None:
    """Count what was acknowledged and is not there, and what is there twice."""
    stored = Counter(ids_stored(home, database_url))
    summary.lost += len(summary.acknowledged - stored.keys())
    summary.doubled += sum(number - 1 for number in stored.values())
