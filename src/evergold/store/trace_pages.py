"""Lists of traces: filters, words, order, and pages that cost the same at the first and at the millionth.

A page begins where the last one ended (keyset), never "after so many". Conditions that an index answers by itself (words, a
score, a person's tag) are asked first: where one of them has few hits, only those are looked at; where all have many, the
list is walked in its order and each trace is held against them, which soon fills a page.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Select, any_, bindparam, func, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY

from evergold.errors import BadInput
from evergold.model.trace import Trace
from evergold.store.matching import best_first
from evergold.store.schema import trace_scores, traces
from evergold.store.scores import scores_of_many
from evergold.store.search import IndexMatch, SearchTerms, matches, verified
from evergold.store.trace_filter import (
    TraceFilter,
    TraceOrder,
    plain_conditions,
    score_condition,
    score_parts,
    scored,
    tagged,
)
from evergold.store.trace_notes import with_tags
from evergold.store.traces import trace_of
from evergold.store.values import dumps

FEW = 5_000  # hits of an index that are looked at one by one
TEXTS = ("input_text", "output_text")
BEST_OF = 1_000  # the newest hits among which the best matches are chosen
# A trace without the figure comes last in either direction; NULL cannot stand in a keyset comparison.
KEYS = {
    TraceOrder.NEWEST: (traces.c.started_at, True),
    TraceOrder.OLDEST: (traces.c.started_at, False),
    TraceOrder.SLOWEST: (func.coalesce(traces.c.duration_ms, -1), True),
    TraceOrder.QUICKEST: (func.coalesce(traces.c.duration_ms, 2**60), False),
    TraceOrder.MOST_TOKENS: (func.coalesce(traces.c.tokens, -1), True),
    TraceOrder.FEWEST_TOKENS: (func.coalesce(traces.c.tokens, 2**60), False),
    TraceOrder.DEAREST: (func.coalesce(traces.c.cost, -1.0), True),
    TraceOrder.CHEAPEST: (func.coalesce(traces.c.cost, 1e18), False),
}


def page_of_traces(
    connection: Connection,
    wanted: TraceFilter,
    *,
    limit: int,
    before: str | None = None,
    order: TraceOrder = TraceOrder.NEWEST,
    scores: bool = False,
    preview: int | None = None,
) -> tuple[list[Trace], str | None]:
    """A page without spans, with scores where they are asked for, texts cut to `preview` characters; and the next cursor."""
    asked = SearchTerms.of(wanted.search or "")
    if order is TraceOrder.MATCH and any(asked):
        seqs, cursor = _best_matches(connection, wanted, limit, before)
    else:
        seqs, cursor = _ordered(connection, wanted, limit, before, order)
    rows = _rows(connection, seqs, preview)
    its_scores = scores_of_many(connection, [row["id"] for row in rows]) if scores else {}
    listed = [trace_of(row, (), its_scores.get(row["id"], ())) for row in rows]
    return with_tags(connection, listed), cursor


def count_traces(connection: Connection, wanted: TraceFilter | None = None, most: int | None = None) -> int:
    """How many pass; `most` is where counting ends."""
    query = chosen(connection, select(traces.c.seq), wanted or TraceFilter())
    if most is not None:
        query = query.limit(most)
    return int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())


def chosen(connection: Connection, query: Select[Any], wanted: TraceFilter) -> Select[Any]:
    """Narrow a query of traces to those that pass the filter."""
    dialect = connection.dialect.name
    query = query.where(*plain_conditions(wanted, dialect))
    if wanted.search and wanted.search.strip() and not any(_asked(connection, wanted)):
        query = query.where(*_id_begins(wanted.search.strip()))
    few: set[int] | None = None
    for match in _indexed(connection, wanted):
        # One more than FEW tells "many" without reading all of them.
        hits = connection.execute(match.hits.limit(FEW + 1)).scalars().all()
        if len(hits) > FEW:
            query = query.where(match.holds)
        else:
            few = set(hits) if few is None else few & set(hits)
    for tag in wanted.tag:
        query = query.where(tagged(tag, dialect))
    query = query.where(*verified(_asked(connection, wanted)))
    return query if few is None else query.where(_among(sorted(few), dialect))


def _indexed(connection: Connection, wanted: TraceFilter) -> Iterator[IndexMatch]:
    """The parts of the filter that an index answers by itself."""
    yield from matches(connection, _asked(connection, wanted))
    for written in wanted.score:
        condition = score_condition(written)
        of_traces = select(traces.c.seq).join(trace_scores, trace_scores.c.trace_id == traces.c.id)
        yield IndexMatch(of_traces.where(*score_parts(condition)), scored(condition))


def _among(seqs: Sequence[int], dialect: str) -> ColumnElement[bool]:
    if dialect == "sqlite":
        # One parameter for thousands of numbers; a list of parameters is limited.
        listed = func.json_each(dumps(seqs)).table_valued("value")
        return traces.c.seq.in_(select(listed.c.value))
    return traces.c.seq == any_(bindparam(None, list(seqs), type_=ARRAY(Integer)))


def _ordered(
    connection: Connection, wanted: TraceFilter, limit: int, before: str | None, order: TraceOrder
) -> tuple[Sequence[int], str | None]:
    key, falling = KEYS.get(order, KEYS[TraceOrder.NEWEST])
    query = chosen(connection, select(traces.c.seq, key.label("key")), wanted)
    if before is not None:
        here = tuple_(key, traces.c.seq)
        there = tuple_(*_cursor(before, key is traces.c.started_at))
        query = query.where(here < there if falling else here > there)
    by = (key.desc(), traces.c.seq.desc()) if falling else (key.asc(), traces.c.seq.asc())
    rows = connection.execute(query.order_by(*by).limit(limit + 1)).all()
    last = rows[limit - 1] if len(rows) > limit else None
    return [row[0] for row in rows[:limit]], f"{last[1]}|{last[0]}" if last else None


def _best_matches(
    connection: Connection, wanted: TraceFilter, limit: int, before: str | None
) -> tuple[Sequence[int], str | None]:
    query = chosen(connection, select(traces.c.seq), wanted).order_by(traces.c.started_at.desc(), traces.c.seq.desc())
    seqs = connection.execute(query.limit(BEST_OF)).scalars().all()
    texts = (
        traces.c.seq,
        traces.c.name,
        func.substr(traces.c.input_text, 1, 2000),
        func.substr(traces.c.output_text, 1, 2000),
    )
    rows = connection.execute(select(*texts).where(_among(seqs, connection.dialect.name))).all()
    ranked = best_first(
        [(row[0], (row[1], row[2] or "", row[3] or "")) for row in rows], SearchTerms.of(wanted.search or ""), seqs
    )
    start = int(_cursor(before, True)[1]) if before else 0
    end = start + limit
    return ranked[start:end], f"match|{end}" if end < len(ranked) else None


def _rows(connection: Connection, seqs: Sequence[int], preview: int | None) -> list[Any]:
    """Rows in the order given, whole or with the beginning of their texts."""
    cut = {name: func.substr(traces.c[name], 1, preview).label(name) for name in TEXTS if preview is not None}
    columns = [cut.get(column.name, column) for column in traces.c]
    query = select(*columns).where(_among(seqs, connection.dialect.name))
    rows = {row["seq"]: dict(row) for row in connection.execute(query).mappings()}
    return [rows[seq] for seq in seqs if seq in rows]


def _asked(connection: Connection, wanted: TraceFilter) -> SearchTerms:
    """What to look for; nothing when what is asked for is the beginning of an id, or has no word in it."""
    search = (wanted.search or "").strip()
    asked = SearchTerms.of(search)
    if any(asked) and " " not in search:
        known = connection.execute(select(traces.c.seq).where(*_id_begins(search)).limit(1)).first()
        return SearchTerms((), ()) if known is not None else asked
    return asked


def _id_begins(text: str) -> tuple[Any, Any]:
    # A range instead of LIKE: the index of ids answers it in both databases, and % and _ mean nothing.
    return traces.c.id >= text, traces.c.id < text + "\U0010ffff"


def _cursor(text: str, of_text: bool) -> tuple[str | float, int]:
    moment, _, seq = text.rpartition("|")
    try:
        if not moment or not seq.isascii() or not seq.isdecimal() or len(seq) > 18:
            raise ValueError
        return moment if of_text else float(moment), int(seq)
    except ValueError:
        raise BadInput(f"cursor {text!r} is not one of ours; send the `next` of the page before, or none") from None
