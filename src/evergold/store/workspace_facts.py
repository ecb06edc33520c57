"""Named values of the workspace as a whole: facts, and counters of what happened (redactions by kind, records refused).

A counter says how often something happened, never what was in it.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, select, text
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from evergold.store.schema import counters

ARCHIVES = "archives"  # the fact that says where this workspace has archives of traces
LOCKS = 8324  # the first number of the locks of facts; the second is made of a fact's name


def fact(connection: Connection, name: str) -> str | None:
    """Look one fact up."""
    value = connection.execute(text("SELECT value FROM workspace_facts WHERE name = :name"), {"name": name}).scalar()
    return None if value is None else str(value)


def fact_to_change(connection: Connection, name: str) -> str | None:
    """Look a fact up of which the next value is made: no other server does the same until the transaction ends."""
    if connection.dialect.name == "postgresql":
        # Not by the row, which may not be there yet.
        lock = text("SELECT pg_advisory_xact_lock(:locks, hashtext(:name))")
        connection.execute(lock, {"locks": LOCKS, "name": name})
    return fact(connection, name)


def put_fact(connection: Connection, name: str, value: str) -> None:
    """Write one fact over what was there."""
    statement = "INSERT INTO workspace_facts (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value"
    connection.execute(text(statement), {"name": name, "value": value})


def count(connection: Connection, amounts: Mapping[str, int]) -> None:
    """Add to counters; a name that is new begins at its amount."""
    # Sorted, so that two servers which add to the same counters lock the rows in one order.
    rows = [{"name": name, "value": amount} for name, amount in sorted(amounts.items()) if amount]
    if rows:
        make = postgres_insert if connection.dialect.name == "postgresql" else sqlite_insert
        statement = make(counters)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["name"], set_={"value": counters.c.value + statement.excluded.value}
            ),
            rows,
        )


def counted(connection: Connection, prefix: str = "") -> dict[str, int]:
    """Every counter whose name begins with `prefix`."""
    query = select(counters.c.name, counters.c.value).where(counters.c.name.startswith(prefix, autoescape=True))
    return {row.name: row.value for row in connection.execute(query.order_by(counters.c.name))}
