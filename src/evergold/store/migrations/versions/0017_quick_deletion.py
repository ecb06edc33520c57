"""The triggers of SQLite that follow deleted traces and scores ask first whether there is anything to do."""

from alembic import op

from evergold.store.rollup.marks import SQLITE_TRIGGERS as OF_TRAFFIC
from evergold.store.text_index.grams import SQLITE_TRIGGERS as OF_PAIRS

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

NAMES = (
    *("trace_grams_gone", "trace_grams_changed"),
    *("traffic_gone", "traffic_changed", "traffic_unscored", "traffic_rescored"),
)


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    for name in NAMES:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
    for statement in (*OF_PAIRS, *OF_TRAFFIC):
        connection.exec_driver_sql(statement)
