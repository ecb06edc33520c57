"""The index of parts of words in cases: a search reads the cases that may hold it, and not every text.

A search of cases finds a text anywhere, also inside a word. SQLite keeps every three characters in a row that a case holds
(FTS5, `trigram`); a case that holds them all is then looked at itself. The index is filled at leisure. Cases that it does
not know yet, and those too long for it, are always looked at, so that a search finds the same with and without it.
PostgreSQL reads the texts themselves.
"""

from typing import Any

from sqlalchemy import Connection, Integer, Table, event, text
from sqlalchemy.sql.elements import TextClause

LONGEST = 20_000  # characters of a case that is indexed; longer ones are looked at each time
AT_ONCE = 200  # cases that are learnt in one transaction: whoever writes meanwhile waits for it
MOST_TRIPLES = 24  # of a long search; the text itself decides in the end
_COLUMNS = ("input_text", "output_text", "expected_output", "case_id")


def _text_of(row: str) -> str:
    return " || char(10) || ".join(f"coalesce({row}{column}, '')" for column in _COLUMNS)


def _is_short(row: str) -> str:
    return f"length({_text_of(row)}) <= {LONGEST}"


_LONG = " + ".join(f"length(coalesce({column}, ''))" for column in _COLUMNS) + f" > {LONGEST - 3}"
_KNOWN = "old.id <= (SELECT id FROM case_parts_upto)"
_CHANGED = " OR ".join(f"old.{column} IS NOT new.{column}" for column in _COLUMNS)
# An index without content forgets a row only when it is given the very text that it learnt.
_FORGET = (
    "INSERT INTO case_parts (case_parts, rowid, parts) "
    f"SELECT 'delete', old.id, {_text_of('old.')} WHERE {_is_short('old.')};"
)
_LEARN = f"INSERT INTO case_parts (rowid, parts) SELECT new.id, {_text_of('new.')} WHERE {_is_short('new.')};"
SQLITE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS case_parts USING fts5(parts, content='', detail=none, columnsize=0, "
    "tokenize='trigram')",
    "CREATE TABLE IF NOT EXISTS case_parts_upto (id INTEGER NOT NULL)",
    "INSERT INTO case_parts_upto SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM case_parts_upto)",
    f"CREATE INDEX IF NOT EXISTS entries_long ON eval_dataset (id) WHERE {_LONG}",
    f"CREATE TRIGGER IF NOT EXISTS case_parts_gone AFTER DELETE ON eval_dataset WHEN {_KNOWN} BEGIN {_FORGET} END",
    f"CREATE TRIGGER IF NOT EXISTS case_parts_changed AFTER UPDATE OF {', '.join(_COLUMNS)} ON eval_dataset "
    f"WHEN {_KNOWN} AND ({_CHANGED}) BEGIN {_FORGET} {_LEARN} END",
)
_HOLDERS = f"""eval_dataset.id IN (
    SELECT rowid FROM case_parts WHERE case_parts MATCH :triples
    UNION ALL SELECT id FROM eval_dataset WHERE {_LONG}
    UNION ALL SELECT id FROM eval_dataset WHERE id > (SELECT id FROM case_parts_upto))"""


def keep_part_index(cases: Table) -> None:
    """Create the index together with its table, and drop it with it."""

    @event.listens_for(cases, "after_create")
    def create(_table: Any, connection: Connection, **_: Any) -> None:
        if connection.dialect.name == "sqlite":
            for statement in SQLITE:
                connection.exec_driver_sql(statement)

    @event.listens_for(cases, "before_drop")
    def drop(_table: Any, connection: Connection, **_: Any) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TABLE IF EXISTS case_parts")
            connection.exec_driver_sql("DROP TABLE IF EXISTS case_parts_upto")


def may_hold(search: str, dialect: str) -> TextClause | None:
    """The condition on a case that it may hold a text; None where no index says so."""
    triples = [search[at : at + 3] for at in range(len(search) - 2)][:MOST_TRIPLES]
    if dialect != "sqlite" or not triples or "\x00" in search:
        return None
    quoted = ['"{}"'.format(triple.replace('"', '""')) for triple in dict.fromkeys(triples)]
    return text(_HOLDERS).bindparams(triples=" AND ".join(quoted))


def parts_waiting(connection: Connection) -> bool:
    """Whether there are cases that the index does not know."""
    if connection.dialect.name != "sqlite":
        return False
    query = text("SELECT (SELECT coalesce(max(id), 0) FROM eval_dataset) - id FROM case_parts_upto")
    return int(connection.execute(query.columns(waiting=Integer)).scalar_one()) > 0


def learn_parts(connection: Connection) -> bool:
    """Index some of the cases that wait; whether there was anything to do."""
    if not parts_waiting(connection):
        return False
    known = connection.exec_driver_sql("SELECT id FROM case_parts_upto").scalar_one()
    of_some = f"SELECT id FROM eval_dataset WHERE id > ? ORDER BY id LIMIT {AT_ONCE}"
    upto = connection.exec_driver_sql(f"SELECT max(id) FROM ({of_some})", (known,)).scalar_one()
    connection.exec_driver_sql(
        f"INSERT INTO case_parts (rowid, parts) SELECT id, {_text_of('')} FROM eval_dataset "
        f"WHERE id > ? AND id <= ? AND {_is_short('')}",
        (known, upto),
    )
    connection.exec_driver_sql("UPDATE case_parts_upto SET id = ?", (upto,))
    return True


def forget_parts(connection: Connection) -> None:
    """Write the index anew without the texts of cases that are gone: deleting alone only marks them."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("INSERT INTO case_parts (case_parts) VALUES ('optimize')")
