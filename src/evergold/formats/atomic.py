"""Write files that appear together or not at all.

A reader must never meet half a file, nor the new half of a pair beside the old other half. So every file of a set is
written to a hidden temporary file in the folder of its target, flushed to the disk, and only then renamed. A rename
replaces one file atomically but not several; therefore a set of more than one file first writes a *journal* that names the
renames. It is committed when its journal is on the disk: from then on every rename will be made, by its writer or by the next
`recover` in that folder, so a crash at any instant leaves the old set or the new set, never a mixture. Two sets with the same
targets take turns: whoever renames holds the lock of every folder it renames in. Temporary files of a process that died
are recognised by their lock being free, and removed.

An object in a store is uploaded in parts and appears when its upload is completed. The objects of a set are sent first and then
completed in the order in which they were opened; the last one, the manifest of those that have one, says that all are there.
A name that ends in `.gz` or `.zst` is written packed.

`scratch_folder` is a folder that worker processes share for the length of a job. `kill -9` runs no clean-up, so it holds a file
that its owner keeps locked; the lock ends with the owner, whatever ended it. Who opens a folder first removes those of the
same user whose lock is free. A folder without that file is not ours to judge and stays.
"""

import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from evergold.errors import Unavailable
from evergold.machine import lock, make_folder, open_file
from evergold.storage import location
from evergold.storage.compression import pack_stream
from evergold.storage.remote import ObjectUpload, RemotePath

_JOURNAL_PREFIX = ".evergold-journal."
_TEMPORARY = re.compile(r"^\.(?P<target>.+)\.[0-9a-f]{16}\.tmp$")
_BUFFER = 1 << 20


def recover(folder: Path | str) -> list[Path]:
    """Finish what a killed process left in `folder`: complete its renames, remove its temporary files.

    Safe to call at any time, also while another process writes there: what a living process holds is left alone.
    Returns the targets that were completed. Readers of a set call it before they read.
    """
    folder = location(folder)
    if isinstance(folder, RemotePath):
        return []
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.startswith("."))
    except FileNotFoundError:
        return []
    completed: list[Path] = []
    # Journals first: temporary files that a journal names must be renamed, not removed.
    for name in names:
        if name.startswith(_JOURNAL_PREFIX):
            completed += _finish(folder / name)
    for name in filter(_TEMPORARY.match, names):
        # A lock that is held means a living process, whose file is left alone.
        with suppress(BlockingIOError, FileNotFoundError, PermissionError), open(folder / name, "rb") as handle:
            lock(handle, wait=False)
            (folder / name).unlink(missing_ok=True)
    return completed


def create_locked(target: Path, *, private: bool = False) -> tuple[Path, BinaryIO]:
    """A new temporary file beside `target`, locked for as long as this process keeps it open."""
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        handle = open_file(temporary, "xb", private=private, buffering=_BUFFER)
        # Between `open` and `lock` a concurrent `recover` may take the file for abandoned and remove it; then it is
        # made again.
        lock(handle)
        if temporary.exists():  # not taken for an abandoned file between its making and its locking
            return temporary, handle
        handle.close()


def commit_with_journal(renames: list[tuple[Path, Path]]) -> None:
    """The journal beside the last target is the point of no return; other folders get a pointer to it first."""
    # One journal decides for all folders. It stands beside the last target, which completes a set (a manifest).
    anchor = renames[-1][1].parent / f"{_JOURNAL_PREFIX}{secrets.token_hex(8)}"
    folders = {target.parent for _, target in renames} - {anchor.parent}
    pointers = [folder / anchor.name for folder in sorted(folders)]
    with ExitStack() as held:
        try:
            # Pointers before the anchor: a pointer without its anchor means that nothing was committed, and is simply
            # removed.
            for pointer in pointers:
                _write_journal(pointer, {"anchor": os.path.relpath(anchor, pointer.parent)}, held)
            pairs = [[os.path.relpath(name, anchor.parent) for name in rename] for rename in renames]
            _write_journal(anchor, {"renames": pairs}, held)
            rename_all(renames)
        except BaseException:
            if all(temporary.exists() for temporary, _ in renames):  # nothing renamed yet: the set can be taken back
                _remove([anchor, *pointers])
            raise
        _remove([anchor, *pointers])


@contextmanager
def folders_held(renames: list[tuple[Path, Path]]) -> Iterator[None]:
    """The folders of the targets, locked in the order of their names, so that no two sets wait for each other."""
    with ExitStack() as held:
        for folder in sorted({target.parent for _, target in renames}):
            # A folder is locked by its own descriptor: no lock file is left behind.
            descriptor = os.open(folder, os.O_RDONLY)
            held.callback(os.close, descriptor)
            lock(descriptor)
        yield


def _write_journal(path: Path, content: dict[str, object], held: ExitStack) -> None:
    draft, handle = create_locked(path)
    held.callback(handle.close)
    try:
        handle.write(json.dumps(content).encode())
        handle.flush()
        os.fsync(handle.fileno())
        os.rename(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # A rename is durable only when its folder is on the disk too; file contents were synced before.
    _sync_folder(path.parent)


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def rename_all(renames: list[tuple[Path, Path]]) -> None:
    for temporary, target in renames:
        os.replace(temporary, target)
    for folder in {target.parent for _, target in renames}:
        _sync_folder(folder)


def _finish(journal: Path) -> list[Path]:
    """Complete the renames of a journal whose writer died; one that still works is waited for."""
    try:
        handle = open(journal, "rb")  # noqa: SIM115 - closed by the with statement below
    except FileNotFoundError:
        return []
    with handle:
        # A living writer holds the journal's lock until it has renamed everything and removed the journal.
        lock(handle)
        # It was finished while this process waited for the lock.
        if not journal.exists():
            return []
        content = json.loads(handle.read())
        if "anchor" in content:
            anchor = Path(os.path.normpath(journal.parent / content["anchor"]))
            # A pointer has the name of its anchor; anything else was not written here and is not followed.
            completed = _finish(anchor) if anchor.name == journal.name else []
        else:
            renames: list[tuple[Path, Path]] = []
            for pair in content["renames"]:
                temporary, target = (Path(os.path.normpath(journal.parent / name)) for name in pair)
                match = _TEMPORARY.match(temporary.name)
                # A foreign journal moves nothing but what we could have written.
                is_ours = match and match["target"] == target.name and temporary.parent == target.parent
                if is_ours and temporary.exists():
                    renames.append((temporary, target))
            with folders_held(renames):
                rename_all(renames)
            completed = [target for _, target in renames]
        journal.unlink(missing_ok=True)
    return completed


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FileSet:
    """Collects files and puts them all in place when its `with` block ends without an exception.

    >>> with FileSet() as files:
    ...     _ = files.open("a.jsonl").write(b"{}")
    ...     _ = files.open("b.jsonl").write(b"{}")

    An exception in the block (a full disk and Ctrl-C included) removes the temporary files and leaves the targets as they
    were; what the operating system refused is raised as `Unavailable`, in one line. Files of a `private` set are for their
    owner alone, wherever they are: backups, archives of traces, reports.
    """

    def __init__(self, *, private: bool = False) -> None:
        self._private = private
        self._open: dict[Path, tuple[Path, BinaryIO]] = {}
        self._uploads: dict[Path, ObjectUpload] = {}
        self._packers: list[BinaryIO] = []
        self._begun = False

    def open(self, target: Path | str) -> BinaryIO:
        """A writable binary file that becomes `target` at the end. Missing folders are made."""
        named = location(target)
        # Through links: the rename must replace the file, not the link to it, and both share a disk.
        path = named if isinstance(named, RemotePath) else Path(os.path.realpath(named))
        if path in self._uploads or path in self._open:
            raise ValueError(f"{named} is already part of this set of files; give each output a path of its own")
        if isinstance(path, RemotePath):
            self._uploads[path] = path.upload()
            handle = self._uploads[path].as_file()
        elif path.is_dir():
            raise IsADirectoryError(f"{named} is a folder; name a file in it")
        else:
            make_folder(path.parent)
            recover(path.parent)
            temporary, handle = create_locked(path, private=self._private)
            self._open[path] = (temporary, handle)
        packer = pack_stream(handle, named)
        if packer is None:
            return handle
        self._packers.append(packer)
        return packer

    def commit(self) -> None:
        """Flush everything to the disk, then rename all files into place and complete all uploads."""
        # Packers first: closing one writes its last bytes into the file below.
        for packer in self._packers:
            packer.close()
        for upload in self._uploads.values():
            # Everything that can fail for want of space or network happens before the first name changes.
            upload.send()
        self._commit_here()
        for upload in self._uploads.values():
            upload.complete()
            self._begun = True

    def _commit_here(self) -> None:
        for path, (_, handle) in self._open.items():
            handle.flush()
            if path.exists() and not self._private:
                # A replaced file keeps its mode.
                os.fchmod(handle.fileno(), path.stat().st_mode & 0o7777)
            os.fsync(handle.fileno())
        renames = [(temporary, path) for path, (temporary, _) in self._open.items()]
        if not renames:
            return
        try:
            with folders_held(renames):
                if len(renames) > 1:
                    commit_with_journal(renames)
                else:
                    rename_all(renames)
        # Also after an error: a rename that was made cannot be taken back, so the others must follow.
        finally:
            if not all(temporary.exists() for temporary, _ in renames):
                self._begun = True
                self._close()  # some are in place: the rest must stay for whoever finishes the journal

    def discard(self) -> None:
        """Remove the temporary files and give uploads up; the targets stay as they were."""
        for packer in self._packers:
            with suppress(Exception):  # what it still writes goes into a file that is thrown away
                packer.close()
        self._packers.clear()
        for upload in self._uploads.values():
            upload.discard()
        temporaries = [temporary for temporary, _ in self._open.values()]
        self._close()
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)

    def _close(self) -> None:
        handles = [handle for _, handle in self._open.values()]
        self._open.clear()
        for handle in handles:
            with suppress(OSError):  # a full disk fails again while flushing what is thrown away anyway
                handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.commit()
        except OSError as problem:
            error = problem
        finally:
            self.discard()
        if isinstance(error, OSError):
            where = f" ({error.filename})" if error.filename else ""
            state = "the next run here will finish it" if self._begun else "no file was changed"
            raise Unavailable(f"{error.strerror or error}{where}; {state}") from error


def write_bytes(target: Path | str, data: bytes, *, private: bool = False) -> None:
    """Replace one file by `data`, atomically."""
    with FileSet(private=private) as files:
        files.open(target).write(data)


def write_chunks(target: Path | str, chunks: Iterable[bytes]) -> int:
    """Replace one file by the chunks in order, atomically; returns how many there were."""
    count = 0
    with FileSet() as files:
        handle = files.open(target)
        for chunk in chunks:
            handle.write(chunk)
            count += 1
    return count


PREFIX = "evergold-build-"
OWNER = ".evergold-owner"


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[str]:
    """A new folder, removed at the end; those that dead processes left in the same place are removed before."""
    root = parent or Path(tempfile.gettempdir())
    remove_abandoned(root)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    try:
        draft = folder / f"{OWNER}.new"
        with open_file(draft, "xb") as held:
            lock(held)
            draft.rename(folder / OWNER)  # seen by others only when it is locked
            yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(root: Path) -> list[Path]:
    """Removes the folders whose owners are dead; returns them."""
    abandoned = [folder for folder in sorted(root.glob(f"{PREFIX}*")) if _is_abandoned(folder)]
    for folder in abandoned:
        shutil.rmtree(folder, ignore_errors=True)
    return [folder for folder in abandoned if not folder.exists()]


def _is_abandoned(folder: Path) -> bool:
    try:
        # In a shared temporary folder anybody may make a link of that name to somebody else's files.
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        with (folder / OWNER).open("rb") as held:
            lock(held, wait=False)
            return True
    except OSError:
        return False
