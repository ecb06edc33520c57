"""The content of a case is stored, each message once."""

from alembic import op
from sqlalchemy import inspect, text

from evergold.store.schema import eval_dataset, messages

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    messages.create(connection, checkfirst=True)
    columns = {column["name"] for column in inspect(connection).get_columns("eval_dataset")}
    added = {"own_content": "INTEGER NOT NULL DEFAULT 0", "content": "TEXT", "grown": "INTEGER NOT NULL DEFAULT 0"}
    for name, kind in added.items():
        if name not in columns:
            connection.execute(text(f"ALTER TABLE eval_dataset ADD COLUMN {name} {kind}"))
    if "whole" in columns:
        connection.execute(text("UPDATE eval_dataset SET own_content = whole"))
    for index in eval_dataset.indexes:
        if index.name == "entries_unwritten":
            index.create(connection, checkfirst=True)
