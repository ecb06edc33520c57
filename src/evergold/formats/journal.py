"""Renames of several files that survive a crash: a journal names them, and whoever comes next finishes it.

A set is committed when its journal is on the disk; from then on every rename will be made, by its writer or by the next
`recover` in that folder. Two sets with the same targets take turns: whoever renames holds the lock of every folder it renames
in. Temporary files of a process that died are recognised by their lock being free, and removed.
"""

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from evergold.machine import lock
from evergold.storage import RemotePath, location

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
    for name in names:
        if _TEMPORARY.match(name):
            _remove_if_abandoned(folder / name)
    return completed


def create_locked(target: Path) -> tuple[Path, BinaryIO]:
    """A new temporary file beside `target`, locked for as long as this process keeps it open."""
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        handle = open(temporary, "xb", buffering=_BUFFER)  # noqa: SIM115 - the caller closes it
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
            renames = [rename for pair in content["renames"] if (rename := _own_rename(journal.parent, *pair))]
            with folders_held(renames):
                rename_all(renames)
            completed = [target for _, target in renames]
        journal.unlink(missing_ok=True)
    return completed


def _own_rename(folder: Path, temporary_name: str, target_name: str) -> tuple[Path, Path] | None:
    """The rename a journal asks for, if it is one we could have written: a foreign journal moves nothing else."""
    temporary = Path(os.path.normpath(folder / temporary_name))
    target = Path(os.path.normpath(folder / target_name))
    match = _TEMPORARY.match(temporary.name)
    ours = match is not None and match["target"] == target.name and temporary.parent == target.parent
    return (temporary, target) if ours and temporary.exists() else None


def _remove_if_abandoned(temporary: Path) -> None:
    try:
        with open(temporary, "rb") as handle:
            # A lock that is held means a living process: BlockingIOError leaves its file alone.
            lock(handle, wait=False)
            temporary.unlink(missing_ok=True)
    except (BlockingIOError, FileNotFoundError, PermissionError):
        return


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
