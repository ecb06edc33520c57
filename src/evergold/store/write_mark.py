"""Whether anybody has written to a database since a moment."""

from typing import NamedTuple

from sqlalchemy import Connection


class WriteMark(NamedTuple):
    """A moment of a database, seen from one connection of its writer: two marks are equal if nothing was written between."""

    connection: object  # numbers of another connection say nothing
    of_others: int
    own: int


def write_mark(connection: Connection) -> WriteMark | None:
    """The mark of this moment; None where the database does not say: PostgreSQL has it by row alone."""
    if connection.dialect.name != "sqlite":
        return None
    # Changes when another connection, of whatever process, has committed something.
    of_others = int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())
    driver = connection.connection.driver_connection
    assert driver is not None
    return WriteMark(connection.info.setdefault("write_mark", object()), of_others, driver.total_changes)
