"""Asking the word index, in the language of either database."""

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Integer, Select, Text, column, func, literal_column, select, table

from evergold.store.schema import traces
from evergold.store.word_index import POSTGRES_WORDS

WORD = re.compile(r"[^\W_]+")
_index = table("trace_words", column("rowid", Integer))


def words_of(search: str) -> list[str]:
    """The words asked for, without what the two databases would read as operators."""
    return WORD.findall(search)


def with_words(query: Select[Any], asked: str, dialect: str) -> Select[Any]:
    """Only traces that hold what was asked (as `asked_for` writes it); the newest arrival first."""
    if dialect == "sqlite":
        matching = literal_column("trace_words.trace_words", Text).op("MATCH")(asked)
        query = query.join(_index, _index.c.rowid == traces.c.seq).where(matching)
        return query.order_by(_index.c.rowid.desc())
    matching = literal_column(POSTGRES_WORDS).op("@@")(func.to_tsquery("simple", asked))
    return query.where(matching).order_by(traces.c.seq.desc())


def asked_for(connection: Connection, words: Sequence[str]) -> str:
    """Every word, as the database wants it written: the last one whole, or as a beginning when nothing holds it whole.

    A whole word is read from the index newest first and stops with the page; a beginning has to be gathered from all
    the words that begin so, which for a common one takes long.
    """
    dialect = connection.dialect.name
    whole = " ".join(f'"{word}"' for word in words) if dialect == "sqlite" else " & ".join(words)
    held = connection.execute(with_words(select(traces.c.seq), whole, dialect).order_by(None).limit(1)).first()
    return whole if held is not None else whole + ("*" if dialect == "sqlite" else ":*")
