"""The figures of a trace that lists filter and sort by: how long it took, its tokens, its cost."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from evergold.store.schema import traces
from evergold.store.values import loads

MOST = 2**53  # larger figures are a sender's mistake, and no database column holds them


class TraceFigures(NamedTuple):
    """Milliseconds, tokens and cost of one trace; None where nothing was recorded."""

    duration_ms: int | None = None
    tokens: int | None = None
    cost: float | None = None


NAMES = TraceFigures._fields


def figures_of(started: str | None, ended: str | None, metadata: Mapping[str, Any]) -> TraceFigures:
    """Read the figures from a trace's times and metadata."""
    return TraceFigures(_duration(started, ended), _tokens(metadata), _amount(metadata.get("cost")))


def summed(metadata: Mapping[str, Any], of_steps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Complete a trace's metadata with the sums of its model calls, where it gives no figures of its own."""
    names = ("input_tokens", "output_tokens", "total_tokens", "cost")
    if any(name in metadata for name in names):
        return dict(metadata)
    sums: dict[str, float] = {}
    for step in of_steps:
        for name in names:
            amount = _amount(step.get(name))
            if amount is not None:
                sums[name] = sums.get(name, 0) + amount
    return {**metadata, **sums}


def _duration(started: str | None, ended: str | None) -> int | None:
    if not started or not ended:
        return None
    try:
        passed = datetime.fromisoformat(ended) - datetime.fromisoformat(started)
        return max(0, round(passed.total_seconds() * 1000))
    except (ValueError, TypeError, OverflowError):
        return None


def _tokens(metadata: Mapping[str, Any]) -> int | None:
    total = _amount(metadata.get("total_tokens"))
    if total is None:
        parts = [_amount(metadata.get(name)) for name in ("input_tokens", "output_tokens")]
        known = [part for part in parts if part is not None]
        total = sum(known) if known else None
    return None if total is None or total > MOST else int(total)


def _amount(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if 0 <= value <= MOST else None


def fill_figures(connection: Connection) -> None:
    """Give the traces of an older database their figures."""
    last = 0
    columns = (traces.c.seq, traces.c.started_at, traces.c.ended_at, traces.c.metadata)
    statement = update(traces).where(traces.c.seq == bindparam("of")).values({name: bindparam(name) for name in NAMES})
    while rows := connection.execute(
        select(*columns).where(traces.c.seq > last).order_by(traces.c.seq).limit(2000)
    ).all():
        changes = [{"of": row[0], **figures_of(row[1], row[2], loads(row[3]))._asdict()} for row in rows]
        connection.execute(statement, changes)
        last = rows[-1][0]
