"""Spans that repeat an earlier one: they name it, and hold the difference. Rows from before stay as they are."""

from alembic import op
from sqlalchemy import inspect, text

from evergold.store.schema.traces import HAS_BASE

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    held = {column["name"] for column in inspect(connection).get_columns("spans")}
    for name, kind in (("base_seq", "INTEGER REFERENCES traces (seq)"), ("base_id", "TEXT")):
        if name not in held:
            connection.execute(text(f"ALTER TABLE spans ADD COLUMN {name} {kind}"))
    connection.execute(text(f"CREATE INDEX IF NOT EXISTS spans_by_base ON spans (base_seq) WHERE {HAS_BASE}"))
