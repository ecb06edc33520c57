"""Indexes for lists of traces sorted by latency, tokens or cost."""

from alembic import op
from sqlalchemy import text

from evergold.store.schema import traces
from evergold.store.schema.traces import FIGURE_INDEXES

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    for index in traces.indexes:
        if index.name in FIGURE_INDEXES:
            index.create(connection, checkfirst=True)
    if connection.dialect.name == "sqlite":
        connection.execute(text("DROP INDEX IF EXISTS traces_by_time"))
