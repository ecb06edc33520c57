"""The index of the words in traces: what makes a search over a million of them quick.

SQLite keeps an FTS5 index beside `traces`, PostgreSQL a GIN index of the same words. Both hold the name and the beginnings
of question and answer: a full index of long answers would cost more at intake than everything else together. SQLite's
stores no text of its own and no positions.

Words are learnt in bulk, which costs half as much as learning them trace by trace: `trace_words_upto` says up to which
arrival they are known. The server moves it on when nothing comes, intake when very many traces wait, and whoever searches
moves it to the end first, so that nothing is found late. Changes and deletions of what is known are followed by triggers.
So a hand-written INSERT, UPDATE or DELETE cannot make the index wrong. PostgreSQL keeps such a list of late comers by itself.
"""

from typing import Any

from sqlalchemy import Connection, Table, event

from evergold.store.text_index.grams import LEARN_MANY as LEARN_PAIRS

INDEXED = 300  # characters of question and of answer
ENOUGH = 20_000  # traces that wait before intake takes the time to learn the words of some
AT_ONCE = 2_000  # the most that are learnt in one transaction: whoever writes meanwhile waits for it


def _words_of(row: str) -> str:
    parts = (
        f"{row}name",
        *(f"substr(coalesce({row}{side}, ''), 1, {INDEXED})" for side in ("input_text", "output_text")),
    )
    return " || ' ' || ".join(parts)


_CHANGED = " OR ".join(f"old.{column} IS NOT new.{column}" for column in ("name", "input_text", "output_text"))
_KNOWN = "old.seq <= (SELECT seq FROM trace_words_upto)"
# An index without content forgets a row only when it is given the very words that it learnt.
_FORGET = f"INSERT INTO trace_words (trace_words, rowid, words) VALUES ('delete', old.seq, {_words_of('old.')});"
_LEARN = f"INSERT INTO trace_words (rowid, words) VALUES (new.seq, {_words_of('new.')});"
_LEARN_MANY = (
    f"INSERT INTO trace_words (rowid, words) SELECT seq, {_words_of('')} FROM traces WHERE seq > ? AND seq <= ?"
)
SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE trace_words USING fts5(words, content='', detail=none, columnsize=0, "
    'tokenize="unicode61 remove_diacritics 2")',
    "CREATE TABLE trace_words_upto (seq INTEGER NOT NULL)",
    "INSERT INTO trace_words_upto VALUES (0)",
    f"CREATE TRIGGER trace_words_gone AFTER DELETE ON traces WHEN {_KNOWN} BEGIN {_FORGET} END",
    f"CREATE TRIGGER trace_words_changed AFTER UPDATE OF name, input_text, output_text ON traces "
    f"WHEN {_KNOWN} AND ({_CHANGED}) BEGIN {_FORGET} {_LEARN} END",
)
# `simple`: no stemming and no stop words, as the traces may be in any language.
POSTGRES_WORDS = f"to_tsvector('simple', {_words_of('')})"
# Whoever fills the list of late comers sorts it into the index, and every search reads it: kept at a quarter of the 4 MB that
# PostgreSQL allows, no batch waits long and the list takes less room.
POSTGRES_LATE = "gin_pending_list_limit = 1024"  # KB
POSTGRES_INDEX = (f"CREATE INDEX trace_words ON traces USING gin (({POSTGRES_WORDS})) WITH ({POSTGRES_LATE})",)


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
            connection.exec_driver_sql("DROP TABLE IF EXISTS trace_words_upto")


def forget_words(connection: Connection) -> None:
    """Write the index anew without the words of traces that are gone: deleting alone only marks them."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("INSERT INTO trace_words (trace_words) VALUES ('optimize')")
        connection.exec_driver_sql("INSERT INTO trace_grams (trace_grams) VALUES ('optimize')")


def words_waiting(connection: Connection) -> tuple[int, int]:
    """The last arrival whose words are known, and the last there is; the same where nothing waits."""
    if connection.dialect.name != "sqlite":
        return 0, 0
    row = connection.exec_driver_sql("SELECT seq, (SELECT max(seq) FROM traces) FROM trace_words_upto").one()
    return row[0], max(row[0], row[1] or 0)


def learn_words(connection: Connection, enough: int = 1) -> bool:
    """Learn the words of the traces that wait, if there are enough; whether there was anything to do."""
    known, last = words_waiting(connection)
    if last - known < enough:
        return False
    upto = min(last, known + AT_ONCE)
    connection.exec_driver_sql(_LEARN_MANY, (known, upto))
    connection.exec_driver_sql(LEARN_PAIRS, (known, upto))
    connection.exec_driver_sql("UPDATE trace_words_upto SET seq = ?", (upto,))
    return True
