"""Name the process that holds SQLite's lock for writing, from the list that Linux keeps of all file locks.

The lock is not asked for by a file handle of our own: closing that would take away the locks of SQLite in this process.
"""

from pathlib import Path

LOCKS = Path("/proc/locks")
WRITE_BYTE = "120"  # of the `-shm` file: WAL_WRITE_LOCK in SQLite's file format
UNKNOWN = "another program"


def lock_holder(file: Path | None) -> str:
    """The process and the first words of its command, as `evergold curate, process 123`; less where less is known."""
    pid = None if file is None else _writing(file)
    if pid is None:
        return UNKNOWN
    words = _command(pid)
    return f"{words}, process {pid}" if words else f"process {pid}"


def _writing(file: Path) -> int | None:
    try:
        number = str(file.with_name(f"{file.name}-shm").stat().st_ino)
        lines = LOCKS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        # 1: POSIX  ADVISORY  WRITE 4711 fd:01:1234 120 120; those that wait for it have an arrow before POSIX
        fields = line.split()
        if fields[1:2] == ["POSIX"] and fields[3] == "WRITE" and fields[5].rsplit(":", 1)[1] == number:
            pid, first = int(fields[4]), fields[6]
            if first == WRITE_BYTE and pid > 0:  # 0 or less: a process of another container
                return pid
    return None


def _command(pid: int) -> str:
    """The program and its first argument; no more, because arguments may hold secrets."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    if Path(words[0]).name.startswith("python") and len(words) > 1:
        words = words[2:] if words[1] == "-m" else words[1:]
    shown = [Path(word).name if at == 0 else word for at, word in enumerate(words[:2])]
    return " ".join(word for word in shown if word[:1].isalnum() and word.replace("-", "").replace(".", "").isalnum())
