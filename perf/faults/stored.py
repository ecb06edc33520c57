"""What is in a workspace after a campaign."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, func, select

from evergold.settings import Settings
from evergold.store.schema import spans, traces
from evergold.workspace import Workspace
from perf.faults.server import Summary


def ids_stored(home: Path, database_url: str = "") -> Iterator[str]:
    """Give the id of every stored trace."""
    with _reading(home, database_url) as connection:
        yield from connection.execution_options(yield_per=10_000).execute(select(traces.c.id)).scalars()


@contextmanager
def _reading(home: Path, database_url: str) -> Iterator[Connection]:
    with (
        Workspace.open(Settings(home=home, database_url=database_url)) as workspace,
        workspace.store.db.read() as connection,
    ):
        yield connection


def check_stored(home: Path, database_url: str, summary: Summary, *, alone: bool = True) -> None:
    """Count what was acknowledged and is not there, what is there twice, and traces whose one span is missing.

    Where others have stored traces too (not `alone`), which have any number of spans, those of acknowledged traces are counted.
    """
    stored = Counter(ids_stored(home, database_url))
    with _reading(home, database_url) as connection:
        number_of = func.count(spans.c.id)
        query = select(traces.c.id, number_of).outerjoin(spans, spans.c.trace_seq == traces.c.seq).group_by(traces.c.id)
        numbers = [number for name, number in connection.execute(query) if alone or name in summary.acknowledged]
    summary.lost += len(summary.acknowledged - stored.keys())
    summary.doubled += sum(number - 1 for number in [*stored.values(), *numbers] if number > 1)
    summary.half += numbers.count(0)
