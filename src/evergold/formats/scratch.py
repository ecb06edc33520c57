"""A folder that worker processes share for the length of a job, and that a killed job leaves to the next one to remove.

`kill -9` runs no clean-up. So a folder carries a file that its owner keeps locked; the lock ends with the owner, whatever
ended it. Who opens a folder first removes those of the same user whose lock is free. A folder without that file is not
ours to judge and stays.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evergold.machine import lock

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
        with draft.open("xb") as held:
            lock(held)
            draft.rename(folder / OWNER)  # seen by others only when it is locked
            yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(root: Path) -> list[Path]:
    """Removes the folders whose owners are dead; returns them."""
    return [folder for folder in sorted(root.glob(f"{PREFIX}*")) if _is_abandoned(folder) and _remove(folder)]


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


def _remove(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
