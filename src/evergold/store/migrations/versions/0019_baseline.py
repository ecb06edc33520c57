"""The baseline: today's tables, made from `store/schema.py`, and those of schema 0018 brought to them with all their rows.

On PostgreSQL schema 0018 kept `spans` in partitions, one for each day on which traces came.
"""

from alembic import op
from sqlalchemy import Connection, inspect, text

from evergold.store.database.migrate import add_missing
from evergold.store.schema import spans

revision = "0019"
down_revision = None
branch_labels = None
depends_on = None

KIND = "SELECT relkind FROM pg_class WHERE oid = to_regclass('spans')"
KEYS = "SELECT conname FROM pg_constraint WHERE conrelid = 'spans'::regclass AND contype IN ('p', 'f')"


def upgrade() -> None:
    connection = op.get_bind()
    kind = connection.execute(text(KIND)).scalar() if connection.dialect.name == "postgresql" else None
    if kind == "p":
        _join_partitions(connection)
    elif kind == "r":
        # Left behind by a process that was ended while it made partitions; it refuses traces with higher numbers.
        connection.execute(text("ALTER TABLE spans DROP CONSTRAINT IF EXISTS spans_bound"))
    held = inspect(connection)
    if held.has_table("eval_dataset") and "whole" in {one["name"] for one in held.get_columns("eval_dataset")}:
        connection.execute(text("ALTER TABLE eval_dataset RENAME COLUMN whole TO own_content"))
    add_missing(connection)
    connection.execute(text("DELETE FROM workspace_facts WHERE name = 'schema.compatible'"))


def _join_partitions(connection: Connection) -> None:
    """Put a plain table with the rows of all partitions in the place of the partitioned one."""
    columns = ", ".join(column["name"] for column in inspect(connection).get_columns("spans"))
    # The new table's keys and index take their names.
    for name in connection.execute(text(KEYS)).scalars().all():
        connection.execute(text(f"ALTER TABLE spans DROP CONSTRAINT {name}"))
    connection.execute(text("DROP INDEX spans_by_base"))
    connection.execute(text("ALTER TABLE spans RENAME TO spans_in_partitions"))
    spans.create(connection)
    connection.execute(text(f"INSERT INTO spans ({columns}) SELECT {columns} FROM spans_in_partitions"))
    connection.execute(text("DROP TABLE spans_in_partitions"))
