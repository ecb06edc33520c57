"""Look up many objects with one `git cat-file` process.

Starting git costs milliseconds; a question to a running one costs microseconds. A case asks for every file it touches.
"""

import subprocess
from typing import IO, NamedTuple

from evergold.errors import BadInput, NotFound
from evergold.repo.quoting import path_bytes
from evergold.repo.running import Git

_ASKED_AT_ONCE = 100  # few enough that the questions fit a pipe while nobody reads the answers


class GitObject(NamedTuple):
    id: str
    kind: str
    size: int


class Objects:
    """Looks objects up by any name git knows: an id, a ref, `COMMIT:PATH`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def find(self, name: str | bytes) -> GitObject | None:
        """The object of that name, or None where the repository has none (or a short id names several)."""
        return self._question("--batch-check", _spelled(name))[0]

    def commit(self, name: str) -> str | None:
        """The full id of a commit. A tag is followed to its commit; a tree or a blob is none."""
        if not name or name.startswith("-"):
            return None
        result = self.find(f"{name}^{{commit}}")
        return result.id if result and result.kind == "commit" else None

    def require_commit(self, name: str) -> str:
        commit = self.commit(name)
        if commit is None:
            shallow = "; the clone is shallow: git fetch --unshallow" if self._git.shallow_commits else ""
            raise NotFound(f"commit {name!r} is not in {str(self._git.path)!r}{shallow}")
        return commit

    def at(self, commit: str, path: str) -> GitObject | None:
        """What stands at a path of a commit."""
        return self.find(f"{commit}:".encode() + path_bytes(path))

    def read(self, blob: str) -> bytes:
        """The bytes of a blob that exists."""
        result, content = self._question("--batch", blob.encode())
        if result is None or result.kind != "blob":
            raise NotFound(f"blob {blob!r} is not in {str(self._git.path)!r}")
        return content

    def read_many(self, blobs: list[str]) -> list[bytes]:
        """The bytes of blobs that exist, asked for together so that nobody waits between one and the next."""
        process = self._process("--batch")
        assert process.stdin is not None and process.stdout is not None
        contents: list[bytes] = []
        for at in range(0, len(blobs), _ASKED_AT_ONCE):
            part = blobs[at : at + _ASKED_AT_ONCE]
            process.stdin.write("".join(f"{blob}\n" for blob in part).encode())
            process.stdin.flush()
            contents += [self._answer(process.stdout, blob) for blob in part]
        return contents

    def _answer(self, stdout: IO[bytes], blob: str) -> bytes:
        result = _parse(stdout.readline(), self._git)
        if result is None:
            raise NotFound(f"blob {blob!r} is not in {str(self._git.path)!r}")
        content = stdout.read(result.size)
        # A line end follows the content and is no part of it.
        stdout.read(1)
        return content

    def _question(self, mode: str, name: bytes) -> tuple[GitObject | None, bytes]:
        # The protocol of cat-file is one name a line.
        if b"\n" in name:
            return self._ask_once(mode, name)
        process = self._process(mode)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(name + b"\n")
        process.stdin.flush()
        result = _parse(process.stdout.readline(), self._git)
        if result is None or mode == "--batch-check":
            return result, b""
        content = process.stdout.read(result.size)
        process.stdout.read(1)
        return result, content

    def _ask_once(self, mode: str, name: bytes) -> tuple[GitObject | None, bytes]:
        """A path with a line end in it does not fit the line protocol; its object id does."""
        answer = self._git.ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", name.decode("utf-8", "surrogateescape")
        )
        return self._question(mode, answer.stdout.strip()) if answer.returncode == 0 else (None, b"")

    def _process(self, mode: str) -> subprocess.Popen[bytes]:
        if mode not in self._processes:
            self._processes[mode] = subprocess.Popen(
                self._git.command(["cat-file", mode]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._git.environment(None),
            )
        return self._processes[mode]

    def close(self) -> None:
        for process in self._processes.values():
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.stdout.close()
            process.wait()
        self._processes.clear()


def _spelled(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")


def _parse(line: bytes, git: Git) -> GitObject | None:
    """`ID KIND SIZE`, or `NAME missing`, or `NAME ambiguous`; NAME may hold anything, so the end is what counts."""
    if not line:
        raise BadInput(f"git cat-file ended while reading {str(git.path)!r}; is the repository damaged? (git fsck)")
    if line.endswith((b" missing\n", b" ambiguous\n")):
        return None
    id, kind, size = line.split()
    return GitObject(id.decode(), kind.decode(), int(size))
