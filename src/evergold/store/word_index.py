"""The index of the words in traces: what makes a search over a million of them quick.

SQLite keeps an FTS5 index beside `traces`, PostgreSQL a GIN index of the same words. Both hold the name and the beginnings
of question and answer: a full index of long answers would cost more at intake than everything else together. SQLite's is
kept by triggers, so a hand-written INSERT or DELETE cannot make it wrong; it stores no text of its own and no positions.
"""

from typing import Any

from sqlalchemy import Connection, Table, event

INDEXED = 300  # characters of question and of answer


def _words_of(row: str) -> str:
    parts = (
        f"{row}name",
        *(f"substr(coalesce({row}{side}, ''), 1, {INDEXED})" for side in ("input_text", "output_text")),
    )
    return " || ' ' || ".join(parts)


_CHANGED = " OR ".join(f"old.{column} IS NOT new.{column}" for column in ("name", "input_text", "output_text"))
_FORGET = f"INSERT INTO trace_words (trace_words, rowid, words) VALUES ('delete', old.seq, {_words_of('old.')});"
_LEARN = f"INSERT INTO trace_words (rowid, words) VALUES (new.seq, {_words_of('new.')});"
SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE trace_words USING fts5(words, content='', detail=none, columnsize=0, "
    'tokenize="unicode61 remove_diacritics 2")',
    f"CREATE TRIGGER trace_words_new AFTER INSERT ON traces BEGIN {_LEARN} END",
    f"CREATE TRIGGER trace_words_gone AFTER DELETE ON traces BEGIN {_FORGET} END",
    f"CREATE TRIGGER trace_words_changed AFTER UPDATE OF name, input_text, output_text ON traces WHEN {_CHANGED} "
    f"BEGIN {_FORGET} {_LEARN} END",
)
POSTGRES_WORDS = f"to_tsvector('simple', {_words_of('')})"
POSTGRES_INDEX = (f"CREATE INDEX trace_words ON traces USING gin (({POSTGRES_WORDS}))",)


def keep_word_index(traces: Table) -> None:
    """Create the index together with its table, and drop it with it."""

    @event.listens_for(traces, "after_create")
    def create(_table: Any, connection: Connection, **_: Any) -> None:
        for statement in SQLITE_INDEX if connection.dialect.name == "sqlite" else POSTGRES_INDEX:
            connection.exec_driver_sql(statement)

    @event.listens_for(traces, "before_drop")
    def drop(_table: Any, connection: Connection, **_: Any) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TABLE IF EXISTS trace_words")
