"""Finding traces by the words in them, fast at a million.

SQLite keeps an FTS5 index beside `traces`, PostgreSQL a GIN index of the same words. Both hold the name and the beginnings of
question and answer: a full index of long answers would cost more at intake than everything else together. SQLite's
index is kept by triggers, so a hand-written INSERT or DELETE cannot make it wrong; it stores no text of its own and no positions.
"""

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Integer, Select, Text, column, event, func, literal_column, table

from evergold.store.schema import traces

INDEXED = 500  # characters of question and of answer
WORD = re.compile(r"[^\W_]+")
_index = table("trace_words", column("rowid", Integer))


def _words_of(row: str, substr: str) -> str:
    parts = (
        f"{row}name",
        *(f"{substr}(coalesce({row}{side}, ''), 1, {INDEXED})" for side in ("input_text", "output_text")),
    )
    return " || ' ' || ".join(parts)


_CHANGED = " OR ".join(f"old.{column} IS NOT new.{column}" for column in ("name", "input_text", "output_text"))
_FORGET = (
    f"INSERT INTO trace_words (trace_words, rowid, words) VALUES ('delete', old.seq, {_words_of('old.', 'substr')});"
)
_LEARN = f"INSERT INTO trace_words (rowid, words) VALUES (new.seq, {_words_of('new.', 'substr')});"
SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE trace_words USING fts5(words, content='', detail=none, columnsize=0, "
    'tokenize="unicode61 remove_diacritics 2")',
    f"CREATE TRIGGER trace_words_new AFTER INSERT ON traces BEGIN {_LEARN} END",
    f"CREATE TRIGGER trace_words_gone AFTER DELETE ON traces BEGIN {_FORGET} END",
    f"CREATE TRIGGER trace_words_changed AFTER UPDATE OF name, input_text, output_text ON traces WHEN {_CHANGED} "
    f"BEGIN {_FORGET} {_LEARN} END",
)
_POSTGRES_WORDS = f"to_tsvector('simple', {_words_of('', 'substr')})"
POSTGRES_INDEX = (f"CREATE INDEX trace_words ON traces USING gin (({_POSTGRES_WORDS}))",)


@event.listens_for(traces, "after_create")
def _create_index(_table: Any, connection: Connection, **_: Any) -> None:
    for statement in SQLITE_INDEX if connection.dialect.name == "sqlite" else POSTGRES_INDEX:
        connection.exec_driver_sql(statement)


@event.listens_for(traces, "before_drop")
def _drop_index(_table: Any, connection: Connection, **_: Any) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("DROP TABLE IF EXISTS trace_words")


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
    matching = literal_column(_POSTGRES_WORDS).op("@@")(func.to_tsquery("simple", asked))
    return query.where(matching).order_by(traces.c.seq.desc())
