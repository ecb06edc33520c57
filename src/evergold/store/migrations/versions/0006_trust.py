"""Checks, remarks, and whose word stands. A workspace that is older than checks keeps them off until somebody turns them on."""

from alembic import op
from sqlalchemy import inspect, text

from evergold.store.schema import metadata

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TABLES = ("trace_checks", "candidate_pool", "remarks", "workspace_facts")
COLUMNS = {
    "trace_scores": {"version": "TEXT"},
    "trace_corrections": {"kind": "TEXT NOT NULL DEFAULT 'answer'", "dismissed": "INTEGER NOT NULL DEFAULT 0"},
    "eval_dataset": dict.fromkeys(("decided", "question", "answered", "undone"), "TEXT NOT NULL DEFAULT ''"),
}


def upgrade() -> None:
    connection = op.get_bind()
    metadata.create_all(connection, tables=[metadata.tables[name] for name in TABLES])
    for table, columns in COLUMNS.items():
        held = {column["name"] for column in inspect(connection).get_columns(table)}
        for name, kind in columns.items():
            if name not in held:
                connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {name} {kind}"))
    connection.execute(text("DROP INDEX IF EXISTS scores_covering"))
    connection.execute(text("CREATE INDEX scores_covering ON trace_scores (trace_id, source, name, value, key)"))
    connection.execute(text("UPDATE trace_corrections SET kind = 'remark' WHERE author = 'detected'"))
    connection.execute(text("UPDATE eval_dataset SET decided = 'a reviewer' WHERE review = 'validated'"))
    connection.execute(text("INSERT INTO workspace_facts VALUES ('checks.builtin', 'off') ON CONFLICT DO NOTHING"))
