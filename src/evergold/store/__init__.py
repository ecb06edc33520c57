"""The only SQL. `Store` is the door: a database brought to today's schema, to read from and to write through."""

import logging
import os
from collections.abc import Callable
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from evergold.errors import Unavailable
from evergold.machine import GROUP_AND_OTHERS, OTHERS, is_mode_wrong, make_folder, mend_modes
from evergold.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from evergold.store.database.db import Database

log = logging.getLogger(__name__)
# What is Evergold's in a workspace folder that holds other things too.
OTHERS_HOME = "%s is open to other users and belongs to somebody else; let its owner close it, or set files.mode"
CLOSED = (
    "%s was open to other users and is now closed to them; to share a workspace with the group of its folder, "
    'set files.mode = "shared"'
)
OWN_NAMES = ("evergold.db*", "builds", "spool", "restored-settings", ".restoring")
P = ParamSpec("P")
T = TypeVar("T")


def make_workspace(settings: Settings) -> None:
    """Make the workspace folder, where it is missing, for its owner alone."""
    try:
        make_folder(settings.home, private=True)
    except OSError as problem:
        raise Unavailable(
            f"cannot create the workspace folder {str(settings.home)!r}: {problem.strerror}; set EVERGOLD_HOME"
        ) from problem


def mend_workspace(settings: Settings) -> None:
    """Give the files of a workspace the modes that the setting `files.mode` says; log it where they were open wider."""
    from evergold.store.database.engines import sqlite_file

    shared = settings.files_mode == "shared"
    file = sqlite_file(settings.database)
    home = settings.home
    if any(folder.resolve().is_relative_to(home.resolve()) for folder in (Path.cwd(), Path(os.path.expanduser("~")))):
        paths = [path for name in OWN_NAMES for path in home.glob(name)]  # people work in the folder
    else:
        paths = [home, *home.iterdir()] if home.is_dir() else []
    paths += [] if file is None else file.parent.glob(f"{file.name}*")
    wrong = [path for path in paths if is_mode_wrong(path, shared=shared)]
    if settings.files_mode == "unmanaged" or os.name != "posix" or not wrong:
        return
    wide = [path for path in wrong if path.lstat().st_mode & (OTHERS if shared else GROUP_AND_OTHERS)]
    for path in reversed(wrong):  # the folder last: where this is cut short, the next one to open it goes on
        mend_modes(path, shared=shared)
    still = [path for path in wide if is_mode_wrong(path, shared=shared)]
    if still:
        log.warning(OTHERS_HOME, still[0])
    elif wide:
        log.warning(CLOSED, wide[0])


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
            make_workspace(settings)
        limits = DatabaseLimits(settings.database_connections, settings.database_statement_seconds)
        db = Database(settings.database, limits)
        try:
            mend_workspace(settings)
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


def make_reader(work: Callable[Concatenate["Connection", P], T]) -> Callable[Concatenate[Any, P], T]:
    """Make a method of a class with a `_store` that reads by this function."""

    @wraps(work)
    def read(facade: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        store: Store = facade._store
        return store.read(work, *args, **kwargs)

    return read


def make_writer(work: Callable[Concatenate["Connection", P], T]) -> Callable[Concatenate[Any, P], T]:
    """Make a method of a class with a `_store` that writes by this function."""

    @wraps(work)
    def write(facade: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        store: Store = facade._store
        return store.write(work, *args, **kwargs)

    return write
