"""Names of processes that hold work by lease, which say on the same machine whether the process still lives."""

import os
import socket
from functools import cache
from pathlib import Path
from uuid import uuid4


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
