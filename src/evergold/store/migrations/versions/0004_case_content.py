"""Cases name their user, and say whether their row holds all of their content.

Earlier entries keep what they hold (`whole = 1`): they are completed from their traces by `evergold curate --refresh`, as
revisions, and never by themselves.
"""

from alembic import op
from sqlalchemy import inspect, text

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

COLUMNS = {"user_id": "TEXT", "whole": "INTEGER NOT NULL DEFAULT 0"}


def upgrade() -> None:
    connection = op.get_bind()
    present = {column["name"] for column in inspect(connection).get_columns("eval_dataset")}
    for name, kind in COLUMNS.items():
        if name not in present:
            connection.execute(text(f"ALTER TABLE eval_dataset ADD COLUMN {name} {kind}"))
    connection.execute(text("UPDATE eval_dataset SET whole = 1"))
