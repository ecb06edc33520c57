"""Which traces pass a filter, asked so that a million of them are soon looked through.

Conditions that an index answers by itself (words, a score) are asked first: where one of them has few hits, only those are
looked at; where all have many, the list is walked in its order and each trace is held against them, which soon fills a page.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Integer, Select, and_, any_, bindparam, func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY

from evergold.store.schema import trace_scores, traces
from evergold.store.search import IndexMatch, SearchTerms, is_common, matches, verified
from evergold.store.trace_filter import TraceFilter, plain_conditions, score_condition, score_parts, scored, tagged
from evergold.store.values import dumps

FEW = 5_000  # hits of an index that are looked at one by one
OWN_INDEX = ("session_id", "user_id", "status", "name", "model")
NARROWING = (*OWN_INDEX, "since", "until")
WINDOW = 20_000  # hits of a common word among which a page of the newest is looked for


class Arrivals(NamedTuple):
    """Traces that arrived between two others, both included."""

    first: int
    last: int


def chosen(
    connection: Connection,
    query: Select[Any],
    wanted: TraceFilter,
    among_arrivals: Arrivals | None = None,
    *,
    walked: bool = False,
) -> Select[Any]:
    """Narrow a query of traces to those that pass the filter, and of hits of common words to those arrivals."""
    dialect = connection.dialect.name
    asked = asked_of(connection, wanted)
    query = query.where(*plain_conditions(wanted, dialect, walked=walked))
    if wanted.search and wanted.search.strip() and not any(asked):
        query = query.where(*_id_begins(wanted.search.strip()))
    few: set[int] | None = None
    rare = () if walked else _rare_values(connection, wanted)
    for match in chain(_indexed(connection, wanted, asked), rare):
        if _are_many(connection, match):
            query = query.where(match.within(*among_arrivals) if among_arrivals and match.within else match.holds)
        else:
            hits = set(connection.execute(match.hits).scalars())
            few = hits if few is None else few & hits
    for tag in wanted.tag:
        query = query.where(tagged(tag, dialect))
    query = query.where(*verified(asked))
    return query if few is None else query.where(among(sorted(few), dialect))


def newest(
    connection: Connection, query: Select[Any], wanted: TraceFilter, limit: int, before: tuple[Any, int] | None = None
) -> Select[Any]:
    """Narrow a query to the newest traces that pass, from behind `before`.

    SQLite reads all hits of a word before it looks at the first trace. Of a common word only the latest arrivals are asked
    for: that is right if no other trace lies in the stretch of time that the list then covers.
    """
    arrivals = _latest_hits(connection, wanted, before)
    if arrivals is not None:
        times = chosen(connection, select(traces.c.started_at), wanted, arrivals)
        oldest = connection.execute(_by_time(times, before).limit(1).offset(limit - 1)).scalar()
        if oldest is None or _others_within(connection, arrivals, oldest, before):
            arrivals = None
    return _by_time(chosen(connection, query, wanted, arrivals), before).limit(limit)


def _by_time(query: Select[Any], before: tuple[Any, int] | None) -> Select[Any]:
    moment, seq = traces.c.started_at, traces.c.seq
    if before is not None:
        query = query.where(tuple_(moment, seq) < tuple_(*before))
    return query.order_by(moment.desc(), seq.desc())


def _latest_hits(connection: Connection, wanted: TraceFilter, before: tuple[Any, int] | None) -> Arrivals | None:
    """The arrivals that hold the next hits of a common word; None where no word is asked for, or none is common."""
    for match in matches(connection, asked_of(connection, wanted)):
        if match.within is not None and _are_many(connection, match):
            last = before[1] + WINDOW if before is not None else 2**62
            hits = match.hits.where(match.hits.selected_columns[0] <= last)
            first = connection.execute(hits.limit(1).offset(WINDOW)).scalar()
            return Arrivals(first or 0, last)
    return None


def _others_within(connection: Connection, arrivals: Arrivals, since: str, before: tuple[Any, int] | None) -> bool:
    """Whether a trace that began since then, and before the page, is none of those arrivals."""
    moment, seq = traces.c.started_at, traces.c.seq
    others = select(seq).where(moment >= since, or_(seq < arrivals.first, seq > arrivals.last))
    if before is not None:
        others = others.where(moment <= before[0])
    return connection.execute(others.limit(1)).first() is not None


def narrows_to_few(connection: Connection, wanted: TraceFilter) -> bool:
    """Whether those parts of the filter that an index answers leave so few traces that sorting them is quick."""
    narrowed = {name: getattr(wanted, name) for name in NARROWING if getattr(wanted, name)}
    conditions = list(plain_conditions(TraceFilter(**narrowed), connection.dialect.name))
    if not conditions:
        return False
    query = select(traces.c.seq).where(*conditions).limit(1).offset(FEW)
    return connection.execute(query).first() is None


def among(seqs: Sequence[int], dialect: str) -> ColumnElement[bool]:
    if dialect == "sqlite":
        # One parameter for thousands of numbers; a list of parameters is limited.
        listed = func.json_each(dumps(seqs)).table_valued("value")
        return traces.c.seq.in_(select(listed.c.value))
    return traces.c.seq == any_(bindparam(None, list(seqs), type_=ARRAY(Integer)))


def asked_of(connection: Connection, wanted: TraceFilter) -> SearchTerms:
    """What to look for; nothing when what is asked for is the beginning of an id, or has no word in it."""
    search = (wanted.search or "").strip()
    asked = SearchTerms.of(search)
    if any(asked) and " " not in search:
        known = connection.execute(select(traces.c.seq).where(*_id_begins(search)).limit(1)).first()
        return SearchTerms((), ()) if known is not None else asked
    return asked


def _indexed(connection: Connection, wanted: TraceFilter, asked: SearchTerms) -> Iterator[IndexMatch]:
    """The parts of the filter that an index answers by itself."""
    yield from matches(connection, asked)
    for written in wanted.score:
        condition = score_condition(written)
        parts = score_parts(condition)
        of_traces = select(traces.c.seq).join(trace_scores, trace_scores.c.trace_id == traces.c.id).where(*parts)
        yield IndexMatch(of_traces, scored(condition), select(trace_scores.c.trace_id).where(*parts))


def _rare_values(connection: Connection, wanted: TraceFilter) -> Iterator[IndexMatch]:
    """Values of columns with an index, where several are asked for: SQLite does not know which of them is rare."""
    named = {name: getattr(wanted, name) for name in OWN_INDEX if getattr(wanted, name)}
    if connection.dialect.name != "sqlite" or len(named) < 2:
        return
    for name, value in named.items():
        condition = and_(*plain_conditions(TraceFilter(**{name: value}), "sqlite"))
        yield IndexMatch(select(traces.c.seq).where(condition), condition)


def _are_many(connection: Connection, match: IndexMatch) -> bool:
    """Whether an index has more hits than are looked at one by one; it is read so far and no further."""
    if is_common(connection, match):
        return True
    # Not all hits of scores are of different traces, and none is missing: it is a bound.
    query = (match.hits if match.probe is None else match.probe).limit(1).offset(FEW)
    return connection.execute(query).first() is not None


def _id_begins(text: str) -> tuple[Any, Any]:
    # A range instead of LIKE: the index of ids answers it in both databases, and % and _ mean nothing.
    return traces.c.id >= text, traces.c.id < text + "\U0010ffff"
