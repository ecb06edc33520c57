"""Files that appear together or not at all.

A reader must never meet half a file, nor the new half of a pair beside the old other half. So every file of a set is
written to a hidden temporary file in the folder of its target, flushed to the disk, and only then renamed. A rename
replaces one file atomically but not several; therefore a set of more than one file first writes a *journal* naming the
renames (`formats/journal.py`). Whoever comes next finishes a journal that a killed process left behind, so a crash at any
instant leaves the old set or the new set, never a mixture.

An object in a store is uploaded in parts and appears when its upload is completed. The objects of a set are sent first and then
completed in the order in which they were opened; the last one, the manifest of those that have one, says that all are there.
A name that ends in `.gz` or `.zst` is written packed.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from evergold.errors import Unavailable
from evergold.formats.journal import commit_with_journal, create_locked, folders_held, recover, rename_all
from evergold.storage import location
from evergold.storage.packing import packed
from evergold.storage.remote import ObjectUpload, RemotePath


class FileSet:
    """Collects files and puts them all in place when its `with` block ends without an exception.

    >>> with FileSet() as files:
    ...     _ = files.open("a.jsonl").write(b"{}")
    ...     _ = files.open("b.jsonl").write(b"{}")

    An exception in the block (a full disk and Ctrl-C included) removes the temporary files and leaves the targets as they
    were; what the operating system refused is raised as `Unavailable`, in one line.
    """

    def __init__(self) -> None:
        self._open: dict[Path, tuple[Path, BinaryIO]] = {}
        self._uploads: dict[Path, ObjectUpload] = {}
        self._packers: list[BinaryIO] = []
        self._begun = False

    def open(self, target: Path | str) -> BinaryIO:
        """A writable binary file that becomes `target` at the end. Missing folders are made."""
        path = location(target)
        handle = self._open_upload(path) if isinstance(path, RemotePath) else self._open_here(path)
        packer = packed(handle, path)
        if packer is None:
            return handle
        self._packers.append(packer)
        return packer

    def _open_upload(self, target: RemotePath) -> BinaryIO:
        if target in self._uploads:
            raise ValueError(f"{target} is already part of this set of files; give each output a path of its own")
        self._uploads[target] = target.upload()
        return self._uploads[target].as_file()

    def _open_here(self, target: Path) -> BinaryIO:
        # Through links: the rename must replace the file, not the link to it, and temporary file and target share a
        # disk.
        path = Path(os.path.realpath(target))
        if path in self._open:
            raise ValueError(f"{target} is already part of this set of files; give each output a path of its own")
        if path.is_dir():
            raise IsADirectoryError(f"{target} is a folder; name a file in it")
        path.parent.mkdir(parents=True, exist_ok=True)
        recover(path.parent)
        temporary, handle = create_locked(path)
        self._open[path] = (temporary, handle)
        return handle

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
            if path.exists():
                # A replaced file keeps its mode; a new file gets what the umask leaves.
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
            try:
                handle.close()
            except OSError:  # a full disk fails again while flushing what is thrown away anyway
                continue

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


def write_bytes(target: Path | str, data: bytes) -> None:
    """Replace one file by `data`, atomically."""
    write_chunks(target, (data,))


def write_chunks(target: Path | str, chunks: Iterable[bytes]) -> int:
    """Replace one file by the chunks in order, atomically; returns how many there were."""
    count = 0
    with FileSet() as files:
        handle = files.open(target)
        for chunk in chunks:
            handle.write(chunk)
            count += 1
    return count
