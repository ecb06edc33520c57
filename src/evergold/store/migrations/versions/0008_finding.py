"""Figures of traces, people's tags and comments, kept views, and the indexes that lists are filtered by."""

from alembic import op
from sqlalchemy import Connection, bindparam, inspect, select, text, update

from evergold.store.list_index import create_list_index
from evergold.store.rows import figures_of
from evergold.store.schema import metadata, traces
from evergold.store.text_index.grams import LEARN_MANY, create_gram_index, has_gram_index
from evergold.store.values import loads

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
    _fill_figures(connection)
    create_list_index(connection)
    for index in metadata.tables["trace_scores"].indexes:
        if index.name in INDEXES:
            index.create(connection, checkfirst=True)
    if not has_gram_index(connection):
        create_gram_index(connection)
        if connection.dialect.name == "sqlite":
            known = connection.exec_driver_sql("SELECT seq FROM trace_words_upto").scalar_one()
            connection.exec_driver_sql(LEARN_MANY, (0, known))


def _fill_figures(connection: Connection) -> None:
    """Give the traces of an older database their figures."""
    last = 0
    columns = (traces.c.seq, traces.c.started_at, traces.c.ended_at, traces.c.metadata)
    statement = (
        update(traces).where(traces.c.seq == bindparam("of")).values({name: bindparam(name) for name in FIGURES})
    )
    while rows := connection.execute(
        select(*columns).where(traces.c.seq > last).order_by(traces.c.seq).limit(2000)
    ).all():
        changes = [{"of": row[0], **figures_of(row[1], row[2], loads(row[3]))._asdict()} for row in rows]
        connection.execute(statement, changes)
        last = rows[-1][0]
