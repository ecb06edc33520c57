"""Ask the indexes of words and of character pairs, in the language of either database, and rank what they find."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator
from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    column,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy import table as sql_table
from sqlalchemy.dialects.postgresql import ARRAY

from evergold.errors import BadInput
from evergold.store.schema import traces
from evergold.store.text_index import POSTGRES_GRAMS, POSTGRES_HOLDS, POSTGRES_WORDS, RUN, pairs_of

WORD = re.compile(r"[^\W_]+")
# A page of hits that are no rarer is soon full when the newest traces are read one by one.
COMMON_SHARE = 0.05
COMMON_HITS = 10_000
# Each word is a condition of its own: thousands of them take seconds, and then more depth than SQLite allows a statement.
LONGEST_SEARCH = 2_000
MOST_WORDS = 100
LONGEST_WORD = 500  # characters; PostgreSQL takes words of 2,046 bytes


class SearchTerms(NamedTuple):
    """What a search asks for: words, and pieces of text in scripts that put no space between words."""

    words: tuple[str, ...]
    pieces: tuple[str, ...]

    @classmethod
    def of(cls, search: str) -> "SearchTerms":
        """Read a search, without what the two databases would take for operators."""
        parts = search.split()
        pieces = tuple(part for part in parts if RUN.search(part))
        words = tuple(word for part in parts if not RUN.search(part) for word in WORD.findall(part))
        return cls(words, pieces)


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
    """

    hits: Select[Any]
    holds: ColumnElement[bool]
    probe: Select[Any] | None = None
    within: Callable[[int, int], ColumnElement[bool]] | None = None
    words: str = ""


def matches(connection: Connection, asked: SearchTerms) -> Iterator[IndexMatch]:
    """The questions to the indexes that together answer a search; the newest arrival first."""
    dialect = connection.dialect.name
    if asked.words:
        yield _match("trace_words", asked_for(connection, asked.words), dialect)
    runs = [run for piece in asked.pieces for run in RUN.findall(piece)]
    if not runs:
        return
    if dialect == "sqlite":
        # A single character is stored only as the beginning of a pair, hence the prefix search.
        pairs = " ".join(f'"{pair}"' + ("*" if len(pair) == 1 else "") for run in runs for pair in pairs_of(run))
        yield _match("trace_grams", pairs, dialect)
    else:
        pairs_held = literal_column(POSTGRES_GRAMS, ARRAY(Text)).contains(
            [pair for run in runs for pair in pairs_of(run)]
        )
        holds = pairs_held & literal_column(POSTGRES_HOLDS)
        yield IndexMatch(select(traces.c.seq).where(holds).order_by(traces.c.seq.desc()), holds)


def text_conditions(asked: SearchTerms) -> list[ColumnElement[bool]]:
    """Conditions on the texts themselves, for pieces of which pairs of characters say too little."""
    texts = (traces.c.input_text, traces.c.output_text, traces.c.name)
    return [
        or_(*(one.icontains(piece, autoescape=True) for one in texts))
        for piece in asked.pieces
        # Pairs say that AB and BC occur, not that ABC does: longer pieces are looked up in the text.
        if len(piece) > 2 or RUN.fullmatch(piece) is None
    ]


def _match(index: str, written: str, dialect: str) -> IndexMatch:
    if dialect == "sqlite":
        held = sql_table(index, column("rowid", Integer))
        matching = literal_column(f"{index}.{index}", Text).op("MATCH")(written)
        hits = select(held.c.rowid).where(matching).order_by(held.c.rowid.desc())
        # The plus keeps SQLite from looking up every hit: it walks the list in its order, and the hits are read once.
        seq, every = literal_column("+traces.seq", Integer), select(held.c.rowid).where(matching)
        return IndexMatch(
            hits,
            seq.in_(every),
            within=lambda first, last: seq.in_(every.where(held.c.rowid.between(first, last))),
        )
    holds = literal_column(POSTGRES_WORDS).op("@@")(func.to_tsquery("simple", written))
    every = select(traces.c.seq).where(holds)
    # PostgreSQL takes every word that it has no figures of for one in 200 traces. To find the first few it would read the
    # traces themselves, and of a rare word all of them. What is set apart is planned as if all hits were wanted: by the index.
    apart = every.cte("hits").prefix_with("MATERIALIZED")
    return IndexMatch(every.order_by(traces.c.seq.desc()), holds, probe=select(apart.c.seq), words=written)


def is_common(connection: Connection, match: IndexMatch) -> bool:
    """Whether PostgreSQL's own figures say that a search has very many hits; False where it has no figures.

    To count them, each trace would be cut into words anew.
    """
    if not match.words:
        return False
    query = f"EXPLAIN (FORMAT JSON) SELECT seq FROM traces WHERE {POSTGRES_WORDS} @@ to_tsquery('simple', %s)"
    plan = connection.exec_driver_sql(query, (match.words,)).scalar_one()
    rows = connection.exec_driver_sql("SELECT reltuples FROM pg_class WHERE oid = 'traces'::regclass").scalar_one()
    return bool(plan[0]["Plan"]["Plan Rows"] > max(COMMON_HITS, COMMON_SHARE * rows))


def asked_for(connection: Connection, words: Sequence[str]) -> str:
    """Every word, as the database wants it written: the last one whole, or as a beginning when nothing holds it whole.

    A whole word is read from the index newest first and stops with the page; a beginning has to be gathered from all
    the words that begin so, which for a common one takes long.
    """
    dialect = connection.dialect.name
    whole = " ".join(f'"{word}"' for word in words) if dialect == "sqlite" else " & ".join(words)
    match = _match("trace_words", whole, dialect)
    query = match.hits.order_by(None) if match.probe is None else match.probe
    is_held = is_common(connection, match) or connection.execute(query.limit(1)).first() is not None
    return whole if is_held else whole + ("*" if dialect == "sqlite" else ":*")


WEIGHTS = (3.0, 2.0, 1.0)  # of name, question and answer
Texts = tuple[str, str, str]


def best_first(rows: Sequence[tuple[int, Texts]], asked: SearchTerms, newest_first: Sequence[int]) -> list[int]:
    """Order the traces of a search; of equal matches the newer one comes first."""
    patterns = [re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE) for word in asked.words]
    patterns += [re.compile(re.escape(piece), re.IGNORECASE) for piece in asked.pieces]
    order = {seq: position for position, seq in enumerate(newest_first)}
    worth = {seq: _worth(texts, patterns) for seq, texts in rows}
    return sorted(worth, key=lambda seq: (-worth[seq], order[seq]))


def _worth(texts: Texts, patterns: Sequence[re.Pattern[str]]) -> float:
    """Each word counts once fully and again less and less; short texts count more than long ones."""
    total = 0.0
    for weight, text in zip(WEIGHTS, texts, strict=True):
        for pattern in patterns:
            number = sum(1 for _ in pattern.finditer(text))
            # Characters in thousands: a word in a short text says more than one in a long document.
            total += weight * (number / (number + 1.0)) / (1.0 + len(text) / 1000)
    return total
