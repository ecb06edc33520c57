"""Asking the word index, in the language of either database."""

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Integer, Select, Text, column, func, literal_column, table

from evergold.store.schema import traces
from evergold.store.word_index import POSTGRES_WORDS

WORD = re.compile(r"[^\W_]+")
_index = table("trace_words", column("rowid", Integer))


def words_of(search: str) -> list[str]:
    """The words asked for, without what the two databases would read as operators."""
    return WORD.findall(search)


def with_words(query: Select[Any], words: Sequence[str], dialect: str) -> Select[Any]:
    """Only traces that hold every word, the last one as the beginning of a word; the newest arrival first."""
    if dialect == "sqlite":
        asked = " ".join(f'"{word}"' for word in words) + "*"
        matching = literal_column("trace_words.trace_words", Text).op("MATCH")(asked)
        query = query.join(_index, _index.c.rowid == traces.c.seq).where(matching)
        return query.order_by(_index.c.rowid.desc())
    asked = " & ".join(words) + ":*"
    matching = literal_column(POSTGRES_WORDS).op("@@")(func.to_tsquery("simple", asked))
    return query.where(matching).order_by(traces.c.seq.desc())
