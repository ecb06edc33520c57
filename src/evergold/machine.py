"""The operating system's processor cores, memory and file locks, on Linux, macOS and Windows."""

import ctypes
import os
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

M_ARENA_MAX, HEAPS = -8, 2  # the first is a constant of malloc.h


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_heaps() -> None:
    """Let all threads allocate from two heaps. Linux has up to eight for each core, and keeps freed memory in every one."""
    library = _gnu_library()
    if library is not None and "MALLOC_ARENA_MAX" not in os.environ:
        library.mallopt(M_ARENA_MAX, HEAPS)


def give_back_memory() -> None:
    """Return freed memory to the system, after work that took much of it."""
    library = _gnu_library()
    if library is not None:
        library.malloc_trim(0)


def _gnu_library() -> Any:
    """The C library, where it is that of GNU; None elsewhere."""
    library = ctypes.CDLL(None) if os.name == "posix" else None
    return library if hasattr(library, "malloc_trim") else None


def lock(file: IO[Any] | int, *, wait: bool = True) -> None:
    """Lock an open file until it is closed or its process ends. Without `wait`, raise BlockingIOError if it is locked."""
    if fcntl is not None:
        # flock belongs to the open file, not to the process: closing another handle of the same file does not lift it.
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        _lock_on_windows(file if isinstance(file, int) else file.fileno(), wait)


def unlock(descriptor: int) -> None:
    """Lift a lock before its file is closed."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    else:
        _lock_on_windows(descriptor, wait=False, lift=True)


def _lock_on_windows(descriptor: int, wait: bool, *, lift: bool = False) -> None:
    """Lock, or unlock, one byte far behind the content, so that others can still read it."""
    import msvcrt

    windows: Any = msvcrt
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, 1 << 40, os.SEEK_SET)
    try:
        asked = windows.LK_LOCK if wait else windows.LK_NBLCK
        windows.locking(descriptor, windows.LK_UNLCK if lift else asked, 1)
    except OSError as problem:
        raise BlockingIOError("the file is locked by another process") from problem
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)
