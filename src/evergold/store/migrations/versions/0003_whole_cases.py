"""Measurements may be not applicable, and the cases of earlier runs that expect no calls do not say so.

An empty `expected_tools` used to mean that nothing was known. Rows of `eval_dataset` never held it (defaults are not
stored); the copies of cases that runs keep do.
"""

from alembic import op
from sqlalchemy import Connection, text

from evergold.store.schema import metadata

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    unknown = text("UPDATE run_cases SET body = replace(body, :listed, :absent)")
    connection.execute(unknown, {"listed": '"expected_tools":[]', "absent": '"expected_tools":null'})
    if connection.dialect.name == "postgresql":
        connection.execute(text("ALTER TABLE measurements DROP CONSTRAINT IF EXISTS state_known"))
        connection.execute(
            text(
                "ALTER TABLE measurements ADD CONSTRAINT state_known "
                "CHECK (state IN ('scored', 'unscored', 'error', 'not_applicable'))"
            )
        )
    else:
        _made_anew(connection, "measurements")


def _made_anew(connection: Connection, name: str) -> None:
    """SQLite cannot change a constraint: make the table anew and copy its rows."""
    table = metadata.tables[name]
    columns = ", ".join(column.name for column in table.columns)
    connection.execute(text(f"ALTER TABLE {name} RENAME TO old_{name}"))
    table.create(connection)
    connection.execute(text(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM old_{name}"))
    connection.execute(text(f"DROP TABLE old_{name}"))
