"""The only SQL. `Store` is the door: a database brought to today's schema, to read from and to write through."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from evergold.errors import Unavailable
from evergold.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from evergold.store.database.db import Database

P = ParamSpec("P")
T = TypeVar("T")


class Store:
    def __init__(self, db: "Database") -> None:
        self.db = db

    @cached_property
    def holder(self) -> str:
        """The name under which this store holds work that others must not do at the same time."""
        from evergold.machine import new_owner

        return new_owner()

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open (and create or migrate) the database that the settings name."""
        from evergold.store.database.db import Database
        from evergold.store.database.engines import DatabaseLimits
        from evergold.store.database.migrate import bring_up_to_date

        if not settings.database_url:
            try:
                settings.home.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise Unavailable(
                    f"cannot create the workspace folder {str(settings.home)!r}: {problem.strerror}; set EVERGOLD_HOME"
                ) from problem
        limits = DatabaseLimits(settings.database_connections, settings.database_statement_seconds)
        db = Database(settings.database, limits)
        try:
            bring_up_to_date(db)
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt):
                db.close_within(0.0)  # what waits for the database, perhaps for minutes, is given up
            db.close()
            raise
        return cls(db)

    def read(self, work: Callable[Concatenate["Connection", P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work(connection, …)` on one consistent state."""
        with self.db.read() as connection:
            return work(connection, *args, **kwargs)

    def write(self, work: Callable[Concatenate["Connection", P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work(connection, …)` on the writer and return its result after the commit."""
        return self.db.write(lambda connection: work(connection, *args, **kwargs))

    def close(self) -> None:
        self.db.close()
