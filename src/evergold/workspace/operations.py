"""The facade of operations: whether the database answers, what waits in it, how large it is."""

from evergold.errors import EvergoldError
from evergold.model.operations import Backlog, DatabaseStatus
from evergold.store import Store
from evergold.store.database.engines import sqlite_file
from evergold.store.database.operations import backlog_of, require_answer, status_of


class Operations:
    """What load balancers, monitoring and operators ask."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def require_database(self) -> None:
        """Raise `Unavailable` with the reason while the database does not answer."""
        with self._store.db.read() as connection:
            require_answer(connection)

    def backlog(self) -> Backlog | None:
        """What waits for curation, for the writer and for a worker; None while the database does not answer."""
        try:
            with self._store.db.read() as connection:
                backlog = backlog_of(connection)
        except EvergoldError:
            return None
        return backlog.model_copy(update={"writes": self._store.db.waiting})

    def status(self) -> DatabaseStatus:
        """Size, growth and age of the database."""
        with self._store.db.read() as connection:
            return status_of(connection, sqlite_file(self._store.db.url))
