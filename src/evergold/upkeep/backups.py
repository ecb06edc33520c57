"""Back a live workspace up into one file, and restore it: the database, the files of its builds, settings, undelivered records.

A backup is of one moment: everything that was acknowledged before it began is in it. Restoring reads and compares the whole
archive first, puts files where nothing refers to them yet, and then replaces the database in one transaction: that is
the moment at which the workspace changes. What the old database alone referred to is removed after it.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel

from evergold.errors import BadInput, Conflict, EvergoldError, Refused, Unavailable
from evergold.formats import archive
from evergold.formats.archive import ArchiveList, ArchiveWriter
from evergold.formats.atomic import FileSet, scratch_folder
from evergold.machine import lock, make_folder, open_file
from evergold.model.build import Build, BuildFiles
from evergold.settings import Settings
from evergold.storage import RemotePath, file_name
from evergold.store import Store, make_workspace, mend_workspace
from evergold.store.database.backup import (
    builds_of,
    copy_database,
    move_builds,
    replace_database,
    require_free,
    rows_of,
)
from evergold.store.database.migrate import explain_unknown
from evergold.store.database.migrations import HEAD

BUILDS, SETTINGS, SPOOL = "builds", "settings", "spool"
RESTORED_SETTINGS = "restored-settings"
FilesOf = Callable[[Build], BuildFiles]


@dataclass
class WorkspaceFiles:
    """Files by their names in an archive, the builds among them, and the builds whose files are gone."""

    files: dict[str, Path] = field(default_factory=dict)
    builds: list[dict[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def collect(settings: Settings, builds: Iterable[Build], files_of: FilesOf) -> WorkspaceFiles:
    collected = WorkspaceFiles()
    for build in builds:
        try:
            result = files_of(build)
        except EvergoldError as problem:
            collected.missing.append(f"{build.dataset} {build.version}: {problem.message}")
            continue
        prefix = f"{BUILDS}/{file_name(build.dataset)}/{build.version}"
        collected.files |= {f"{prefix}/{name}": path for name, path in result.names().items()}
        location = Path(build.location or "").resolve().relative_to(result.root)
        entry = {"dataset": build.dataset, "version": build.version, "path": prefix, "location": location.as_posix()}
        collected.builds.append(entry)
    named = (settings.file, *settings.curation_policies, *settings.checks_files)
    for path in [Path(name) for name in named if name and Path(name).is_file()]:
        collected.files[f"{SETTINGS}/{path.name}"] = path
    # The spool holds records that the SDK could not deliver yet: acknowledged by nobody else.
    spool = settings.home / SPOOL
    for path in sorted(spool.rglob("*.jsonl")):
        collected.files[f"{SPOOL}/{path.relative_to(spool).as_posix()}"] = path
    return collected


def restore_builds(home: Path, scratch: Path, builds: Iterable[dict[str, str]]) -> dict[tuple[str, str], str]:
    """Copy the files of builds into the workspace; return where each build is from now on.

    A folder that is there and differs is another build's, to which the database still refers: then a free name is taken.
    """
    locations: dict[tuple[str, str], str] = {}
    for build in builds:
        source, target = (scratch / build["path"]).resolve(), (home / build["path"]).resolve()
        manifest = (source / build["location"]).resolve()
        # Paths in an archive come from a file of unknown origin; `..` in one must not lead outside, nor to another part.
        inside = source.is_relative_to((scratch / BUILDS).resolve()) and manifest.is_relative_to(source)
        if not (inside and manifest.exists()):
            raise BadInput(f"the backup puts a build at {build['path']!r}, outside the workspace; nothing was restored")
        number = 1
        while target.exists() and not (target.is_dir() and _hashes(source) == _hashes(target)):
            number += 1
            target = target.with_name(f"{source.name}-restored{number}")
        if not target.exists():
            make_folder(target.parent, private=True)
            # Renamed, not copied: scratch lies on the same disk, and a half-copied build is never seen.
            os.rename(source, target)
        locations[build["dataset"], build["version"]] = str((target / build["location"]).resolve())
    return locations


def _hashes(folder: Path) -> dict[str, str]:
    folders = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as handle:
                folders[path.relative_to(folder).as_posix()] = hashlib.file_digest(handle, "sha256").hexdigest()
    return folders


def build_folders(home: Path) -> set[Path]:
    """The folders of builds in a workspace: one for each dataset and version."""
    return {path.resolve() for path in (home / BUILDS).glob("*/*") if path.is_dir()}


def remove_unused(before: set[Path], locations: Iterable[str]) -> None:
    """Remove the folders of builds that only the database before referred to."""
    used = [Path(location) for location in locations]
    # Folders that appeared during the restore are not in `before`, so they are never removed.
    for folder in before:
        if not any(folder_used.is_relative_to(folder) for folder_used in used):
            shutil.rmtree(folder, ignore_errors=True)


def restore_rest(home: Path, scratch: Path) -> None:
    """Put settings beside the database, where they change nothing by themselves, and undelivered records into the spool."""
    if (scratch / SETTINGS).is_dir():
        # Not over the settings in force: they may name other databases or keys than those of the backup.
        shutil.copytree(scratch / SETTINGS, home / RESTORED_SETTINGS, dirs_exist_ok=True)
    for path in sorted((scratch / SPOOL).rglob("*.jsonl")):
        target = home / SPOOL / path.relative_to(scratch / SPOOL)
        if not target.exists():
            make_folder(target.parent, private=True)
            os.rename(path, target)


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
    def __init__(self, settings: Settings, store: Callable[[], Store], files_of: FilesOf) -> None:
        """`store` opens the database, which restoring does not need; `files_of` finds the files of a build."""
        self._settings, self._store, self._files_of = settings, store, files_of

    def write(self, file: Path, progress: Progress = lambda _: None) -> BackupReport:
        """Write the workspace as it is now into `file`; an earlier backup there is replaced once the new one is whole."""
        file = file.absolute()
        # A typing error must not destroy a file that is no backup.
        if file.exists() and not archive.is_archive(file):
            raise Refused(f"{str(file)!r} exists and is no backup; choose another name")
        store, steps = self._store(), _Steps(progress)
        # On the disk of the target: taking the final name must be a rename, and /tmp may be too small.
        with (
            _scratch(self._settings.home if isinstance(file, RemotePath) else file.parent) as scratch,
            FileSet(private=True) as files,
        ):
            copy_database(store.db, scratch / DATABASE, steps.upto(400))
            drafts = FileSet() if isinstance(file, RemotePath) else files
            handle = drafts.open(scratch / ARCHIVE if isinstance(file, RemotePath) else file)
            listed = self._pack(ArchiveWriter(handle), scratch / DATABASE, store.db.dialect, steps)
            handle.flush()
            # The archive is read back and compared before it replaces an earlier backup.
            archive.verify(Path(handle.name), steps.upto(STEPS, _size(listed)))
            if isinstance(file, RemotePath):  # verified here, because a store shows an object only when it is whole
                drafts.commit()
                with (scratch / ARCHIVE).open("rb") as source:
                    shutil.copyfileobj(source, files.open(file), 1 << 20)
        return _report(file, listed)

    def check(self, file: Path, progress: Progress = lambda _: None) -> BackupReport:
        """Compare every part of a backup with its hash; change nothing."""
        listed = archive.read_list(file)
        archive.verify(file, _Steps(progress).upto(STEPS, _size(listed)))
        return _report(file, listed)

    def restore(self, file: Path, *, replace: bool = False, progress: Progress = lambda _: None) -> BackupReport:
        """Make the workspace what it was when `file` was written. One that holds data is left alone without `replace`."""
        listed = archive.read_list(file)
        if reason := explain_unknown(str(listed.contents.get("schema"))):
            raise BadInput(f"{str(file)!r} {reason}")
        home, url, steps = self._settings.home, self._settings.database, _Steps(progress)
        make_workspace(self._settings)
        with _lock_restore(home), _scratch(home) as scratch:
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
        mend_workspace(self._settings)  # a shared workspace shares what was unpacked privately
        return _report(file, listed)

    def _pack(self, writer: ArchiveWriter, copy: Path, dialect: str, steps: "_Steps") -> ArchiveList:
        collected = collect(self._settings, builds_of(copy), self._files_of)
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
        make_folder(parent)
        with scratch_folder(parent) as folder:
            yield Path(folder)
    except OSError as problem:
        where = f" ({problem.filename})" if problem.filename else ""
        raise Unavailable(f"{problem.strerror or problem}{where}; the workspace is as it was") from problem


@contextmanager
def _lock_restore(home: Path) -> Iterator[None]:
    """One restore at a time."""
    with open_file(home / ".restoring", "wb", private=True) as handle:
        try:
            lock(handle, wait=False)
        except BlockingIOError:
            raise Conflict(f"another restore into {str(home)!r} is under way; wait for its end") from None
        yield


def _size(listed: ArchiveList) -> int:
    return sum(part.bytes for part in listed.parts)


def _report(file: Path, listed: ArchiveList) -> BackupReport:
    details = dict(listed.contents)
    builds = [f"{build['dataset']} {build['version']}" for build in details.pop("builds")]
    number = details.pop("schema")
    return BackupReport(
        file=str(file), bytes=file.stat().st_size, hash=listed.hash, schema_number=number, builds=builds, **details
    )
