"""Figures of traces, people's tags and comments, kept views, and the indexes that lists are filtered by."""

from alembic import op
from sqlalchemy import inspect, text

from evergold.store.figures import fill_figures
from evergold.store.gram_index import LEARN_MANY, create_gram_index, has_gram_index
from evergold.store.list_index import create_list_index
from evergold.store.schema import metadata

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

FIGURES = {"duration_ms": "BIGINT", "tokens": "BIGINT", "cost": "FLOAT"}
TABLES = ("trace_tags", "trace_comments", "list_views")
INDEXES = ("scores_failing", "scores_given")


def upgrade() -> None:
    connection = op.get_bind()
    metadata.create_all(connection, tables=[metadata.tables[name] for name in TABLES])
    held = {column["name"] for column in inspect(connection).get_columns("traces")}
    for name, kind in FIGURES.items():
        if name not in held:
            connection.execute(text(f"ALTER TABLE traces ADD COLUMN {name} {kind}"))
    fill_figures(connection)
    create_list_index(connection)
    for index in metadata.tables["trace_scores"].indexes:
        if index.name in INDEXES:
            index.create(connection, checkfirst=True)
    if not has_gram_index(connection):
        create_gram_index(connection)
        if connection.dialect.name == "sqlite":
            known = connection.exec_driver_sql("SELECT seq FROM trace_words_upto").scalar_one()
            connection.exec_driver_sql(LEARN_MANY, (0, known))
