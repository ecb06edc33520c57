"""Wait for SQLite's lock for writing, and name the process that holds it.

SQLite itself asks again for `ASK_SECONDS`; a wait that lasts longer is logged, which a command shows on stderr, until the
patience of the caller is over. The holder is found in the list that Linux keeps of all file locks, not by a file handle of our
own: closing that would take away the locks of SQLite in this process.
"""

import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from evergold.errors import Unavailable

ASK_SECONDS = 4.0
LOCKS = Path("/proc/locks")
WRITE_BYTE = "120"  # of the `-shm` file: WAL_WRITE_LOCK in SQLite's file format
UNKNOWN = "another program"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)

log = logging.getLogger(__name__)


class WriteLock:
    """The lock of an SQLite file; `file` is None for a database in memory, which has no other writers."""

    def __init__(self, file: Path | None, seconds: float) -> None:
        self._file = file
        self.seconds = seconds  # that a writer waits at most

    @property
    def busy_ms(self) -> int:
        """For how long SQLite itself asks again."""
        return round(1000 * min(self.seconds, ASK_SECONDS))

    def take(self, statement: Callable[[], object]) -> None:
        """Run a statement that takes the lock until it has it; `Unavailable` after all patience."""
        began = time.monotonic()
        while True:
            try:
                statement()
                return
            except (sqlite3.OperationalError, DBAPIError) as problem:
                if not _is_busy(problem) or self._file is None:
                    raise
            waited = time.monotonic() - began
            if waited >= self.seconds:
                raise Unavailable(
                    f"database {str(self._file)!r} was locked for {self.seconds:g} s by {lock_holder(self._file)}; nothing of "
                    "this was written: try again when it has ended, or use PostgreSQL for many writers"
                )
            log.warning("waiting for the database, locked by %s (%.0f s)", lock_holder(self._file), waited)


def _is_busy(problem: Exception) -> bool:
    cause = problem.orig if isinstance(problem, DBAPIError) else problem
    code = getattr(cause, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _BUSY


def lock_holder(file: Path | None) -> str:
    """The process and the first words of its command, as `evergold curate, process 123`; less where less is known."""
    pid = None if file is None else _writing(file)
    if pid is None:
        return UNKNOWN
    words = _command(pid)
    return f"{words}, process {pid}" if words else f"process {pid}"


def _writing(file: Path) -> int | None:
    try:
        number = str(file.with_name(f"{file.name}-shm").stat().st_ino)
        lines = LOCKS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        # 1: POSIX  ADVISORY  WRITE 4711 fd:01:1234 120 120; those that wait for it have an arrow before POSIX
        fields = line.split()
        if fields[1:2] == ["POSIX"] and fields[3] == "WRITE" and fields[5].rsplit(":", 1)[1] == number:
            pid, first = int(fields[4]), fields[6]
            if first == WRITE_BYTE and pid > 0:  # 0 or less: a process of another container
                return pid
    return None


def _command(pid: int) -> str:
    """The program and its first argument; no more, because arguments may hold secrets."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    if Path(words[0]).name.startswith("python") and len(words) > 1:
        words = words[2:] if words[1] == "-m" else words[1:]
    shown = [Path(word).name if at == 0 else word for at, word in enumerate(words[:2])]
    return " ".join(word for word in shown if word[:1].isalnum() and word.replace("-", "").replace(".", "").isalnum())
