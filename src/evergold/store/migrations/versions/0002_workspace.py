"""From the three first tables to a whole workspace. Every trace, entry and tag of the old database is kept.

The old tables are put aside, today's are made, the rows are copied with the columns both have, and the old tables go.
"""

from alembic import op
from sqlalchemy import Connection, inspect, text

from evergold.store.schema import metadata
from evergold.store.text_index.words import learn_words

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OLD = ("traces", "eval_dataset", "eval_dataset_tags")
TIMES = {"created_at", "started_at", "ended_at", "received_at", "updated_at"}


def upgrade() -> None:
    connection = op.get_bind()
    present = [name for name in OLD if inspect(connection).has_table(name)]
    for name in present:
        connection.execute(text(f"ALTER TABLE {name} RENAME TO old_{name}"))
    metadata.create_all(connection)
    for name in present:
        _copy(connection, name)
    while learn_words(connection):
        pass
    _first_revisions(connection)
    for name in reversed(present):
        connection.execute(text(f"DROP TABLE old_{name}"))
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT setval('eval_dataset_id_seq', coalesce(max(id), 0) + 1, false) FROM eval_dataset")
        )


def _copy(connection: Connection, name: str) -> None:
    old = {column["name"] for column in inspect(connection).get_columns(f"old_{name}")}
    shared = [column.name for column in metadata.tables[name].columns if column.name in old]
    values = ", ".join(_value(column) for column in shared)
    connection.execute(text(f"INSERT INTO {name} ({', '.join(shared)}) SELECT {values} FROM old_{name}"))


def _value(column: str) -> str:
    """A time as `2026-01-02 03:04:05` becomes the text all our times are; an entry of a lost trace stands by itself."""
    if column in TIMES:
        return f"CASE WHEN length({column}) = 19 THEN replace({column}, ' ', 'T') || '.000Z' ELSE {column} END"
    if column == "trace_id":
        return "CASE WHEN trace_id IN (SELECT id FROM traces) THEN trace_id END"
    return column


def _first_revisions(connection: Connection) -> None:
    connection.execute(
        text(
            "INSERT INTO case_revisions (entry_id, version, action, why, created_at) "
            "SELECT id, 1, 'migrated', 'kept from an older database', created_at FROM eval_dataset"
        )
    )
