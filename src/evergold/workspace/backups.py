"""Back a live workspace up into one file, and restore it: the database, the files of its builds, settings, undelivered records.

A backup is of one moment: everything that was acknowledged before it began is in it. Restoring reads and compares the whole
archive first, puts files where nothing refers to them yet, and then replaces the database in one transaction: that is
the moment at which the workspace changes. What the old database alone referred to is removed after it.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel

from evergold.errors import BadInput, Conflict, Refused, Unavailable
from evergold.formats import archive
from evergold.formats.archive import ArchiveList, ArchiveWriter
from evergold.formats.atomic import FileSet, scratch_folder
from evergold.machine import lock
from evergold.settings import Settings
from evergold.storage import RemotePath
from evergold.store import Store
from evergold.store.database.backup import (
    builds_of,
    copy_database,
    move_builds,
    replace_database,
    require_free,
    rows_of,
)
from evergold.store.database.migrate import explain_unknown
from evergold.store.migrations import HEAD
from evergold.workspace.backup_files import build_folders, collect, remove_unused, restore_builds, restore_rest

DATABASE, ARCHIVE = "database.db", "backup.zip"
STEPS = 1000  # what the progress of each verb adds up to

Progress = Callable[[int], None]


class BackupReport(BaseModel, frozen=True):
    """What a backup holds; `missing` names builds whose files were gone when it was written."""

    file: str
    bytes: int
    hash: str
    created_at: str
    evergold: str
    schema_number: str
    database: str
    rows: dict[str, int]
    builds: list[str]
    missing: list[str]


class Backups:
    def __init__(self, settings: Settings, store: Callable[[], Store]) -> None:
        self._settings = settings
        self._store = store

    def write(self, file: Path, progress: Progress = lambda _: None) -> BackupReport:
        """Write the workspace as it is now into `file`; an earlier backup there is replaced once the new one is whole."""
        file = file.absolute()
        # A typing error must not destroy a file that is no backup.
        if file.exists() and not archive.is_archive(file):
            raise Refused(f"{str(file)!r} exists and is no backup; choose another name")
        store, steps = self._store(), _Steps(progress)
        # On the disk of the target: taking the final name must be a rename, and /tmp may be too small.
        with _scratch(_folder_for(file, self._settings.home)) as scratch, FileSet() as files:
            copy_database(store.db, scratch / DATABASE, steps.upto(400))
            drafts = FileSet() if isinstance(file, RemotePath) else files
            handle = drafts.open(scratch / ARCHIVE if isinstance(file, RemotePath) else file)
            listed = self._pack(ArchiveWriter(handle), scratch / DATABASE, store.db.dialect, steps)
            handle.flush()
            # The archive is read back and compared before it replaces an earlier backup.
            archive.verify(Path(handle.name), steps.upto(STEPS, _size(listed)))
            if isinstance(file, RemotePath):  # verified here, because a store shows an object only when it is whole
                drafts.commit()
                _copy(scratch / ARCHIVE, files.open(file))
        return _report(file, listed)

    def check(self, file: Path, progress: Progress = lambda _: None) -> BackupReport:
        """Compare every part of a backup with its hash; change nothing."""
        listed = archive.read_list(file)
        archive.verify(file, _Steps(progress).upto(STEPS, _size(listed)))
        return _report(file, listed)

    def restore(self, file: Path, *, replace: bool = False, progress: Progress = lambda _: None) -> BackupReport:
        """Make the workspace what it was when `file` was written. One that holds data is left alone without `replace`."""
        listed = archive.read_list(file)
        _require_known(file, listed)
        home, url, steps = self._settings.home, self._settings.database, _Steps(progress)
        with _restoring(home), _scratch(home) as scratch:
            # Asked before anything is unpacked: a workspace with data is the most common reason to refuse.
            require_free(url, replace)
            archive.extract(file, scratch, steps.upto(500, _size(listed)))
            before = build_folders(home)
            locations = restore_builds(home, scratch, listed.contents["builds"])
            # Builds get their new locations in the copy, so that database and files agree at the moment of the swap.
            move_builds(scratch / DATABASE, locations)
            replace_database(url, scratch / DATABASE, replace, steps.upto(STEPS))
            # Only after the swap: until then the old database still refers to them.
            remove_unused(before, locations.values())
            restore_rest(home, scratch)
        return _report(file, listed)

    def _pack(self, writer: ArchiveWriter, copy: Path, dialect: str, steps: "_Steps") -> ArchiveList:
        collected = collect(self._settings, builds_of(copy))
        parts = {DATABASE: copy, **collected.files}
        advance = steps.upto(800, sum(path.stat().st_size for path in parts.values()))
        for name, path in parts.items():
            writer.add(name, path, advance)
        return writer.finish(
            {
                "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "evergold": version("evergold"),
                "schema": HEAD,
                "database": dialect,
                "rows": rows_of(copy),
                "builds": collected.builds,
                "missing": collected.missing,
            }
        )


def _folder_for(file: Path, home: Path) -> Path:
    """Where a backup is put together: beside its file, or in the workspace where it goes to a store."""
    return home if isinstance(file, RemotePath) else file.parent


def _copy(path: Path, target: BinaryIO) -> None:
    with path.open("rb") as source:
        shutil.copyfileobj(source, target, 1 << 20)


class _Steps:
    """Progress in whole steps, from parts that are measured in shares or bytes."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = 0

    def upto(self, step: int, total: float = 1.0) -> Callable[[float], None]:
        """A function that is given amounts of `total` and moves from the present step to this one."""
        first, so_far = self._done, 0.0

        def advance(amount: float) -> None:
            nonlocal so_far
            so_far += amount
            reached = first + int((step - first) * min(1.0, so_far / max(total, 1e-9)))
            self._progress(reached - self._done)
            self._done = reached

        return advance


@contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    """A folder for what is under way, on the disk on which it will stay; what the system refuses is one line."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(parent) as folder:
            yield Path(folder)
    except OSError as problem:
        where = f" ({problem.filename})" if problem.filename else ""
        raise Unavailable(f"{problem.strerror or problem}{where}; the workspace is as it was") from problem


@contextmanager
def _restoring(home: Path) -> Iterator[None]:
    """One restore at a time."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".restoring").open("wb") as handle:
        try:
            lock(handle, wait=False)
        except BlockingIOError:
            raise Conflict(f"another restore into {str(home)!r} is under way; wait for its end") from None
        yield


def _require_known(file: Path, listed: ArchiveList) -> None:
    if reason := explain_unknown(str(listed.contents.get("schema"))):
        raise BadInput(f"{str(file)!r} {reason}")


def _size(listed: ArchiveList) -> int:
    return sum(part.bytes for part in listed.parts)


def _report(file: Path, listed: ArchiveList) -> BackupReport:
    details = listed.contents
    return BackupReport(
        file=str(file),
        bytes=file.stat().st_size,
        hash=listed.hash,
        created_at=details["created_at"],
        evergold=details["evergold"],
        schema_number=details["schema"],
        database=details["database"],
        rows=details["rows"],
        builds=[f"{build['dataset']} {build['version']}" for build in details["builds"]],
        missing=details["missing"],
    )
