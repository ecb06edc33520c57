"""Translate a driver's error into one of ours: which database, what it reported, what to do next.

Three kinds are told apart, by the driver's own code and never by the words of its message:

- the database itself fails (gone, locked, read-only, damaged, full): `Unavailable`, the caller may try again later;
- it cannot hold a value it was given (a number over 64 bits, a NUL in a text): `BadInput`, the caller must change it;
- anything else is a defect of this program and passes as it is.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from evergold.credentials import seal
from evergold.errors import BadInput, Contended, EvergoldError, Unavailable

_SQLITE = {
    sqlite3.SQLITE_CANTOPEN: "check that the folder exists and may be written, or set EVERGOLD_HOME",
    sqlite3.SQLITE_PERM: "make the file and its folder writable, or set EVERGOLD_HOME",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable, or set EVERGOLD_HOME",
    sqlite3.SQLITE_NOTADB: "this is not an SQLite file; name another with --db",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore a backup, or name another with --db",
    sqlite3.SQLITE_BUSY: "another program holds it; try again, or use PostgreSQL for many writers",
    sqlite3.SQLITE_LOCKED: "another program holds it; try again, or use PostgreSQL for many writers",
    sqlite3.SQLITE_PROTOCOL: "another program holds it; try again, or use PostgreSQL for many writers",
    sqlite3.SQLITE_IOERR: "check the disk and its free space",
    sqlite3.SQLITE_FULL: "free some space, then try again",
    sqlite3.SQLITE_NOMEM: "free some memory, then try again",
    sqlite3.SQLITE_NOLFS: "move the database to a file system that takes large files",
}
_LOGIN = "check user and password in EVERGOLD_DATABASE_URL, and the server's pg_hba.conf"
_NO_DATABASE = "create it (createdb), or correct EVERGOLD_DATABASE_URL"
_CONTENDED = "several writers met; try again"
_POSTGRES = {  # by SQLSTATE, or by its class, which is the first two characters
    "25006": "the server takes no writes now; name the primary server in EVERGOLD_DATABASE_URL",
    "28": _LOGIN,
    "3D": _NO_DATABASE,
    "08": "check that the server runs and that EVERGOLD_DATABASE_URL is right",
    "40": _CONTENDED,
    "42501": "make the user of EVERGOLD_DATABASE_URL the owner of the database, or GRANT CREATE, USAGE ON SCHEMA public to it",
    "53100": "free some space on the server's disk, then try again",
    "53": "the server has no room for it now; try again, or raise its limits",
    "55006": "another session uses it; try again",
    "55P03": "another session holds a lock; try again",
    "57014": "it took longer than database.statement_seconds allows; ask for less, or raise that",
    "57": "the server is stopping or starting; try again",
    "58": "look at the server's log and disk",
    "XX": "the server's files may be damaged: look at its log, restore a backup",
}
_OVERTAKEN = ("23503", "23505")  # a key that is not there, or is there already
_NO_STATE = "check that the server runs and that EVERGOLD_DATABASE_URL is right"
# A connection that is refused has no SQLSTATE: the next step is chosen by the server's words where they are known.
_REFUSED = {
    "authentication failed": _LOGIN,
    "no pg_hba.conf entry": _LOGIN,
    "no password supplied": _LOGIN,
    "role ": _LOGIN,
    'database "': _NO_DATABASE,
    "too many clients": "end some connections, lower database.connections, or raise max_connections of the server",
    "remaining connection slots": "end some connections, lower database.connections, or raise max_connections of the server",
    "resolve host": "check the host's name; write @, : and / in a password as %40, %3A and %2F",
}


@contextmanager
def explain_errors(url: str) -> Iterator[None]:
    """Raise what the driver reports about the database or a value as one line that names the next step."""
    try:
        yield
    except Exception as problem:
        known = explanation(url, problem)
        if known is None:
            seal(problem)
            raise
        raise known from problem


def explanation(url: str, problem: BaseException) -> EvergoldError | None:
    """The error to show instead of `problem`; None when it is not the database's."""
    if isinstance(problem, PoolTimeout):
        return Unavailable(f"database {show_url(url)}: every connection is in use; try again in a moment")
    cause = problem.orig if isinstance(problem, StatementError) else problem
    if advice := _advice(problem, cause):
        kind = Contended if advice is _CONTENDED else Unavailable
        return kind(f"database {show_url(url)}: {_line(cause)}; {advice}")
    if isinstance(problem, DataError):
        return BadInput(f"a value cannot be stored or looked for: {_line(cause)}; correct it and send it again")
    if isinstance(cause, OverflowError | UnicodeEncodeError):
        return BadInput(f"a value cannot be stored or looked for: {_line(cause)}; send a smaller number or plain text")
    return None


def met_another_server(problem: BaseException) -> bool:
    """Whether a transaction failed for what another server did at the same moment, so that the same can be written now.

    PostgreSQL ended a deadlock by it; or the other one stored or deleted a row that was not there, or was, when this one looked.
    """
    if isinstance(problem, IntegrityError):
        return getattr(problem.orig, "sqlstate", None) in _OVERTAKEN
    return isinstance(problem, Contended)


def _advice(problem: BaseException, cause: BaseException | None) -> str | None:
    """What to do when the database itself fails; None when it is something else."""
    if isinstance(cause, sqlite3.Error):
        return _SQLITE.get(sqlite_code(cause))
    if not isinstance(problem, DBAPIError):
        return None
    if state := getattr(cause, "sqlstate", None):
        return _POSTGRES.get(state) or _POSTGRES.get(state[:2])
    # psycopg raises these without an SQLSTATE when no server answers.
    lost = problem.connection_invalidated or type(cause).__name__ in ("OperationalError", "ConnectionTimeout")
    return next((advice for words, advice in _REFUSED.items() if words in _line(cause)), _NO_STATE) if lost else None


def sqlite_code(problem: BaseException | None) -> int:
    """The code of an error of SQLite without the part that only refines it; 0 where there is none."""
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF


def _line(problem: BaseException | None) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__


def show_url(url: str) -> str:
    """The URL without its password."""
    parsed = make_url(url)
    return repr(parsed.database) if parsed.drivername.startswith("sqlite") else repr(parsed.render_as_string())
