"""The operating system: cores, memory, file locks and names of processes, on Linux, macOS and Windows.

A process that holds work by lease is named so that others on the same machine can tell whether it still runs.
"""

import ctypes
import os
import socket
from functools import cache
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

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


def _lock_on_windows(descriptor: int, wait: bool) -> None:
    """Lock one byte far behind the content, so that others can still read it."""
    import msvcrt

    windows: Any = msvcrt
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, 1 << 40, os.SEEK_SET)
    try:
        windows.locking(descriptor, windows.LK_LOCK if wait else windows.LK_NBLCK, 1)
    except OSError as problem:
        raise BlockingIOError("the file is locked by another process") from problem
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)


def new_owner() -> str:
    """A name for one holder: machine, process, when that process began, and a random part."""
    return f"{_machine()}/{os.getpid()}/{_began(os.getpid())}/{uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """True only when it is certain: the holder was a process of this machine and is gone."""
    machine, pid, began = _process(owner)
    return machine == _machine() and began != "" and _began(pid) != began


def is_alive(owner: str) -> bool:
    """True only when it is certain: the holder is a process of this machine and still there; without /proc, only this one."""
    machine, pid, began = _process(owner)
    return machine == _machine() and (began != "" or pid == os.getpid()) and _began(pid) == began


def _process(owner: str) -> tuple[str, int, str]:
    """The machine, the number and the beginning of a holder's process."""
    # A name of another shape was written by another version; nothing certain can be said of its process.
    machine, pid, began, _ = owner.rsplit("/", 3) if owner.count("/") >= 3 else ("", "0", "", "")
    return machine, int(pid), began


@cache
def _machine() -> str:
    """The host and its boot, so that a container with the same name elsewhere is another machine."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    try:
        # Process ids mean something inside one pid namespace only: two containers may share host and boot.
        return f"{socket.gethostname()}:{boot.read_text().strip()[:8]}:{os.readlink(namespace)[5:-1]}"
    except OSError:
        return socket.gethostname()


def _began(pid: int) -> str:
    """When a process began, in clock ticks since boot; "" where that cannot be known or there is no such process."""
    try:
        # The name of a program may hold spaces and brackets, so the fields are counted from the last bracket.
        after_name = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ""
    # A zombie has ended and waits to be collected.
    return "" if after_name[0] == "Z" else after_name[19]
