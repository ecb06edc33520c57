"""Ask the index of words, in the language of either database, and rank what it finds."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator
from sqlalchemy import ColumnElement, Connection, Integer, Select, Text, cast, column, exists, literal_column, select
from sqlalchemy import table as sql_table
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR

from evergold.errors import BadInput
from evergold.store.schema import traces
from evergold.store.text_index import LONGEST_WORD, RUN, WORD, fold, parts_of

# A page of hits that are no rarer is soon full when the newest traces are read one by one.
COMMON_SHARE = 0.05
COMMON_HITS = 10_000
# Each word is a condition of its own: thousands of them take seconds, and then more depth than SQLite allows a statement.
LONGEST_SEARCH = 2_000
MOST_WORDS = 100


class SearchTerms(NamedTuple):
    """What a search asks for: words, and runs of characters in scripts that put no space between words."""

    words: tuple[str, ...]
    pieces: tuple[str, ...]

    @classmethod
    def of(cls, search: str) -> "SearchTerms":
        """Read a search, without what the two databases would take for operators."""
        folded = fold(search)
        return cls(tuple(WORD.findall(RUN.sub(" ", folded))), tuple(RUN.findall(folded)))


def _require_bounded(search: str) -> str:
    words = words_of(search) if len(search) <= LONGEST_SEARCH else []
    longest = max(map(len, words), default=0)
    for size, most, unit in (
        (len(search), LONGEST_SEARCH, "characters"),
        (len(words), MOST_WORDS, "words"),
        (longest, LONGEST_WORD, "characters in one word"),
    ):
        if size > most:
            raise BadInput(f"the search has {size:,} {unit}; at most {most:,} are looked for: search for a part of it")
    return search


Search = Annotated[str, AfterValidator(_require_bounded)]
"""A text to search for, short enough to be looked for."""


def words_of(search: str) -> list[str]:
    """The words and pieces that a search asks for."""
    return [part for asked in SearchTerms.of(search) for part in asked]


class IndexMatch(NamedTuple):
    """One question to an index: the traces it gives by themselves, and the same as a condition on a trace.

    `probe` has as many rows as there are hits and is cheaper to count or to begin. `within` is the condition for traces that
    arrived between two others, where that is cheaper than the condition for all. `words` is what PostgreSQL is asked for.
    `by_beginning`: nothing holds the last word whole.
    """

    hits: Select[Any]
    holds: ColumnElement[bool]
    probe: Select[Any] | None = None
    within: Callable[[int, int], ColumnElement[bool]] | None = None
    words: str = ""
    by_beginning: bool = False


def match_of(connection: Connection, asked: SearchTerms) -> IndexMatch | None:
    """The question to the index that answers a search; the newest arrival first."""
    if not any(asked):
        return None
    terms = [*asked.words[:-1], *(part for run in asked.pieces for part in parts_of(run) if len(part) > 1)]
    # A single character is stored only as a beginning.
    beginnings = [run for run in asked.pieces if len(run) == 1]
    last = asked.words[-1:]
    dialect = connection.dialect.name
    match = _match(_write_query([*terms, *last], beginnings, dialect), dialect)
    if not last or is_common(connection, match):
        return match
    # A whole word is read from the index newest first and stops with the page; a beginning has to be gathered from all the
    # words that begin so, which for a common one takes long.
    query = match.hits.order_by(None) if match.probe is None else match.probe
    is_held = connection.execute(query.limit(1)).first() is not None
    return (
        match
        if is_held
        else _match(_write_query(terms, [*beginnings, *last], dialect), dialect)._replace(by_beginning=True)
    )


def _write_query(terms: Sequence[str], beginnings: Sequence[str], dialect: str) -> str:
    if dialect == "sqlite":
        return " ".join([*(f'"{term}"' for term in terms), *(f'"{term}"*' for term in beginnings)])
    return " & ".join([*(f"'{term}'" for term in terms), *(f"'{term}':*" for term in beginnings)])


def _match(written: str, dialect: str) -> IndexMatch:
    if dialect == "sqlite":
        held = sql_table("trace_words_index", column("rowid", Integer))
        matching = literal_column("trace_words_index.trace_words_index", Text).op("MATCH")(written)
        hits = select(held.c.rowid).where(matching).order_by(held.c.rowid.desc())
        # The plus keeps SQLite from looking up every hit: it walks the list in its order, and the hits are read once.
        seq, every = literal_column("+traces.seq", Integer), select(held.c.rowid).where(matching)
        return IndexMatch(
            hits,
            seq.in_(every),
            within=lambda first, last: seq.in_(every.where(held.c.rowid.between(first, last))),
        )
    held = sql_table("trace_words", column("seq", Integer), column("words", TSVECTOR))
    holds = held.c.words.op("@@")(cast(written, TSQUERY))
    every = select(held.c.seq).where(holds)
    # PostgreSQL takes every word that it has no figures of for one in 200 traces. To find the first few it would read the
    # traces themselves, and of a rare word all of them. What is set apart is planned as if all hits were wanted: by the index.
    apart = every.cte("hits").prefix_with("MATERIALIZED")
    return IndexMatch(
        every.order_by(held.c.seq.desc()),
        exists().where(held.c.seq == traces.c.seq, holds),
        probe=select(apart.c.seq),
        words=written,
    )


def is_common(connection: Connection, match: IndexMatch) -> bool:
    """Whether PostgreSQL's own figures say that a search has very many hits; False where it has no figures."""
    if not match.words:
        return False
    query = "EXPLAIN (FORMAT JSON) SELECT seq FROM trace_words WHERE words @@ CAST(%s AS tsquery)"
    plan = connection.exec_driver_sql(query, (match.words,)).scalar_one()
    rows = connection.exec_driver_sql("SELECT reltuples FROM pg_class WHERE oid = 'trace_words'::regclass").scalar_one()
    return bool(plan[0]["Plan"]["Plan Rows"] > max(COMMON_HITS, COMMON_SHARE * rows))


WEIGHTS = (3.0, 2.0, 1.0)  # of name, question and answer
Texts = tuple[str, str, str]


def best_first(rows: Sequence[tuple[int, Texts]], asked: SearchTerms, newest_first: Sequence[int]) -> list[int]:
    """Order the traces of a search; of equal matches the newer one comes first."""
    patterns = [re.compile(rf"\b{re.escape(word)}\b") for word in asked.words]
    patterns += [re.compile(re.escape(piece)) for piece in asked.pieces]
    order = {seq: position for position, seq in enumerate(newest_first)}
    worth = {seq: _rate(texts, patterns) for seq, texts in rows}
    return sorted(worth, key=lambda seq: (-worth[seq], order[seq]))


def _rate(texts: Texts, patterns: Sequence[re.Pattern[str]]) -> float:
    """Each word counts once fully and again less and less; short texts count more than long ones."""
    total = 0.0
    for weight, text in zip(WEIGHTS, texts, strict=True):
        folded = fold(text)
        for pattern in patterns:
            number = sum(1 for _ in pattern.finditer(folded))
            # Characters in thousands: a word in a short text says more than one in a long document.
            total += weight * (number / (number + 1.0)) / (1.0 + len(text) / 1000)
    return total
