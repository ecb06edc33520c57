"""Price the traces that report no cost, and count the traffic anew with how many costs are known."""

from typing import Any

from alembic import op
from sqlalchemy import Connection, inspect, text

from evergold.prices import MODEL_KINDS, add_costs
from evergold.store.database.migrate import add_missing
from evergold.store.database.rows import loads

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

KINDS = ", ".join(f"'{kind}'" for kind in MODEL_KINDS)
UNKNOWN = """SELECT seq, started_at, metadata FROM traces
    WHERE cost IS NULL AND tokens > 0 AND seq > :after ORDER BY seq LIMIT 500"""
CALLS = f"SELECT trace_seq, kind, metadata FROM spans WHERE trace_seq IN (%s) AND kind IN ({KINDS}) ORDER BY trace_seq"
PRICE = "UPDATE traces SET cost = :cost, priced = 1 WHERE seq = :seq"


def upgrade() -> None:
    connection = op.get_bind()
    add_missing(connection)
    if "costed" not in {column["name"] for column in inspect(connection).get_columns("traffic_figures")}:
        connection.execute(text("ALTER TABLE traffic_figures ADD COLUMN costed INTEGER DEFAULT 0 NOT NULL"))
    _price_traces(connection)
    for table in ("traffic_figures", "traffic_scores", "traffic_dirty"):
        connection.execute(text(f"DELETE FROM {table}"))
    connection.execute(text("INSERT INTO traffic_dirty (hour) SELECT DISTINCT substr(started_at, 1, 13) FROM traces"))


def _price_traces(connection: Connection) -> None:
    after = 0
    while rows := connection.execute(text(UNKNOWN), {"after": after}).all():
        after = rows[-1].seq
        listed = ", ".join(str(int(row.seq)) for row in rows)
        calls: dict[int, list[tuple[str, Any]]] = {}
        for seq, kind, stated in connection.exec_driver_sql(CALLS % listed):
            calls.setdefault(seq, []).append((kind, loads(stated)))
        costs = [(row.seq, add_costs(loads(row.metadata), calls.get(row.seq, ()), row.started_at)) for row in rows]
        if priced := [{"seq": seq, "cost": cost.amount} for seq, cost in costs if cost.amount is not None]:
            connection.execute(text(PRICE), priced)
