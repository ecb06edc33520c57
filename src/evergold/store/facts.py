"""What holds for the workspace as a whole, by name."""

from sqlalchemy import Connection, text


def fact(connection: Connection, name: str) -> str | None:
    """Look one fact up."""
    value = connection.execute(text("SELECT value FROM workspace_facts WHERE name = :name"), {"name": name}).scalar()
    return None if value is None else str(value)


def put_fact(connection: Connection, name: str, value: str) -> None:
    """Write one fact over what was there."""
    statement = "INSERT INTO workspace_facts (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value"
    connection.execute(text(statement), {"name": name, "value": value})
