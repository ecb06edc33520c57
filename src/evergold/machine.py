"""The operating system: cores, memory, file locks, file modes and names of processes, on Linux, macOS and Windows.

Every folder and file of Evergold is made here (`make_folder`, `open_file`), so that its mode does not depend on the umask:
what is private, or lies in a folder of its owner alone, is 700 and 600; what lies in a folder that its owner shares with
a group (2770) is 2770 and 660. Anything else, as an export into a folder of the user's, gets what the umask leaves.

A process that holds work by lease is named so that others on the same machine can tell whether it still runs.
"""

import ctypes
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, Any, BinaryIO, cast
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


_blas_lock, _blas_users, _blas_threads = Lock(), 0, 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Multiply small matrices on one thread: OpenBLAS, which comes with numpy, uses them all, and most of them wait busily."""
    global _blas_users, _blas_threads
    library = _open_blas()
    if library is None:
        yield
        return
    with _blas_lock:
        if not _blas_users:
            _blas_threads = library.scipy_openblas_get_num_threads64_()
            library.scipy_openblas_set_num_threads64_(1)
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if not _blas_users:
                library.scipy_openblas_set_num_threads64_(_blas_threads)


@cache
def _open_blas() -> Any:
    """The OpenBLAS of numpy's own wheels; None where numpy uses another library."""
    from numpy.linalg import _umath_linalg

    library = ctypes.CDLL(_umath_linalg.__file__) if os.name == "posix" else None
    return library if hasattr(library, "scipy_openblas_set_num_threads64_") else None


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


PRIVATE_MODE, SHARED_MODE = 0o700, 0o2770  # of folders; a file has the same without the right to execute
OTHERS, GROUP_AND_OTHERS = 0o007, 0o077


def _mode_in(folder: Path, private: bool) -> int | None:
    """The mode of a folder made in this one; None: what the umask leaves, also where the system has no modes."""
    if os.name != "posix":
        return None
    status = folder.stat()
    if status.st_mode & (stat.S_ISGID | GROUP_AND_OTHERS) == SHARED_MODE & (stat.S_ISGID | GROUP_AND_OTHERS):
        return SHARED_MODE
    # In another user's private folder (that of whoever started a container) the file must not be lost to that user.
    closed = not status.st_mode & GROUP_AND_OTHERS and status.st_uid == os.geteuid()
    return PRIVATE_MODE if private or closed else None


def make_folder(path: Path, *, private: bool = False) -> None:
    """Make a folder and those above it that are missing. One that is there keeps its mode."""
    if path.is_dir():
        return
    make_folder(path.parent, private=private)
    mode = _mode_in(path.parent, private)
    try:
        path.mkdir(0o777 if mode is None else 0o700)
    except FileExistsError:  # another process made it just now
        if not path.is_dir():
            raise
        return
    if mode is not None:
        path.chmod(mode)


def open_file(path: Path, mode: str, *, private: bool = False, buffering: int = -1) -> BinaryIO:
    """Open a file to write bytes, as `open` does. A private one that is there already is closed to others."""

    def open_with_mode(name: str, flags: int) -> int:
        folder_mode = _mode_in(Path(name).parent, private)
        if folder_mode is None:
            return os.open(name, flags, 0o666)
        made = not os.path.lexists(name)
        descriptor = os.open(name, flags, 0o600)
        if made or private:
            with suppress(PermissionError):  # a file of a colleague
                os.fchmod(descriptor, folder_mode & 0o666)
        return descriptor

    return cast(BinaryIO, open(path, mode, buffering, opener=open_with_mode))


def is_mode_wrong(path: Path, *, shared: bool) -> bool:
    """Whether a file or folder of a workspace is open to other people than it should be. Links are not followed."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # a temporary file of another process
        return False
    return not stat.S_ISLNK(mode) and (mode ^ _workspace_mode(mode, shared)) & GROUP_AND_OTHERS != 0


def mend_modes(path: Path, *, shared: bool) -> None:
    """Give a file, or a folder with all that is in it, the modes of a private or shared workspace, the folder last.

    Links are not followed, and what belongs to somebody else keeps its mode.
    """
    if path.is_dir() and not path.is_symlink():
        for entry in list(path.iterdir()):
            mend_modes(entry, shared=shared)
    if is_mode_wrong(path, shared=shared):
        with suppress(PermissionError, FileNotFoundError):
            path.chmod(_workspace_mode(path.stat().st_mode, shared))


def _workspace_mode(mode: int, shared: bool) -> int:
    if stat.S_ISDIR(mode) and shared:
        return SHARED_MODE
    # What its owner may not write or may execute stays so.
    return mode & 0o700 | ((mode & 0o600) >> 3 if shared else 0)


def new_owner() -> str:
    """A name for one holder: machine, process, when that process began, and a random part."""
    return f"{_machine()}/{os.getpid()}/{_read_start(os.getpid())}/{uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """True only when it is certain: the holder was a process of this machine and is gone."""
    machine, pid, began = _process(owner)
    return machine == _machine() and began != "" and _read_start(pid) != began


def is_alive(owner: str) -> bool:
    """True only when it is certain: the holder is a process of this machine and still there; without /proc, only this one."""
    machine, pid, began = _process(owner)
    return machine == _machine() and (began != "" or pid == os.getpid()) and _read_start(pid) == began


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


def _read_start(pid: int) -> str:
    """When a process began, in clock ticks since boot; "" where that cannot be known or there is no such process."""
    try:
        # The name of a program may hold spaces and brackets, so the fields are counted from the last bracket.
        after_name = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ""
    # A zombie has ended and waits to be collected.
    return "" if after_name[0] == "Z" else after_name[19]
