"""Lists of traces: filters, words, and pages that cost the same at the first and at the millionth.

A page begins where the last one ended (keyset), never "after so many". Without words the order is by time; with words it is
by arrival, because that is the order in which the index gives its hits, and the first page need not read them all.
"""

from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, Select, func, select, tuple_

from evergold.errors import BadInput
from evergold.model.trace import Trace, TraceStatus
from evergold.store.cutoffs import Cutoff
from evergold.store.schema import traces
from evergold.store.search import asked_for, with_words, words_of
from evergold.store.traces import trace_of


class TraceFilter(BaseModel, frozen=True, extra="forbid"):
    """Which traces: every part that is given must hold. `search`: words of name, question or answer, or an id's beginning."""

    session_id: str | None = None
    user_id: str | None = None
    status: TraceStatus | None = None
    name: str | None = None
    model: str | None = None
    since: Cutoff | None = None
    until: Cutoff | None = None
    search: str | None = None


def page_of_traces(
    connection: Connection, wanted: TraceFilter, *, limit: int, before: str | None = None
) -> tuple[list[Trace], str | None]:
    """Newest first, without spans and scores; with the cursor of the next page."""
    words = _words(connection, wanted)
    query = filtered(select(traces), wanted, connection).limit(limit + 1)
    if not words:
        query = query.order_by(traces.c.started_at.desc(), traces.c.seq.desc())
    if before is not None:
        moment, seq = _cursor(before)
        here = traces.c.seq < seq if words else tuple_(traces.c.started_at, traces.c.seq) < tuple_(moment, seq)
        query = query.where(here)
    rows = connection.execute(query).mappings().all()
    last = rows[limit - 1] if len(rows) > limit else None
    return [trace_of(row, (), ()) for row in rows[:limit]], f"{last['started_at']}|{last['seq']}" if last else None


def count_traces(connection: Connection, wanted: TraceFilter | None = None) -> int:
    query = filtered(select(func.count()).select_from(traces), wanted or TraceFilter(), connection).order_by(None)
    return int(connection.execute(query).scalar_one())


def filtered(query: Select[Any], wanted: TraceFilter, connection: Connection) -> Select[Any]:
    table = traces.c
    for name in ("session_id", "user_id", "status", "name", "model"):
        value = getattr(wanted, name)
        if value is not None:
            query = query.where(table[name] == value)
    if wanted.since is not None:
        query = query.where(table.started_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(table.started_at < wanted.until)
    if words := _words(connection, wanted):
        return with_words(query, asked_for(connection, words), connection.dialect.name)
    if wanted.search and wanted.search.strip():
        return query.where(*_id_begins(wanted.search.strip()))
    return query


def _words(connection: Connection, wanted: TraceFilter) -> list[str]:
    """The words to look for; none when what is asked for is the beginning of an id, or has no word in it."""
    asked = (wanted.search or "").strip()
    words = words_of(asked)
    if words and " " not in asked:
        known = connection.execute(select(traces.c.seq).where(*_id_begins(asked)).limit(1)).first()
        return [] if known is not None else words
    return words


def _id_begins(text: str) -> tuple[Any, Any]:
    return traces.c.id >= text, traces.c.id < text + "\U0010ffff"


def _cursor(text: str) -> tuple[str, int]:
    moment, _, seq = text.rpartition("|")
    if not moment or not seq.isascii() or not seq.isdecimal():
        raise BadInput(f"cursor {text!r} is not one of ours; send the `next` of the page before, or none")
    return moment, int(seq)
