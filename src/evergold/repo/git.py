"""A git repository, read through the `git` program and never written.

Everything Evergold asks of git goes through `Repo`. It reads objects and refs only: it needs no work tree, so a bare
repository is as good as any; nothing is checked out, no hook runs, nothing is fetched. What is not there (no
program, no repository, a commit that a shallow clone cut off) becomes one line that says what to do.
"""

import fcntl
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Self

from evergold.errors import BadInput, NotFound, Unavailable
from evergold.repo.objects import Objects

_READ_ONLY = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_PIPE_SIZE = 1 << 20

Answer = subprocess.CompletedProcess[bytes]


class Repo:
    """One repository. Use it as a context manager: it keeps git processes open to answer many questions fast."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Raises NotFound for a folder that is missing or holds no repository."""
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise NotFound(f"no folder {str(path)!r}; give the folder of a git repository")
        repo = cls(folder)
        answer = repo.ask("rev-parse", "--git-dir")
        if answer.returncode:
            raise NotFound(f"{str(path)!r} cannot be read as a git repository: {_reason(answer)}")
        return repo

    @cached_property
    def objects(self) -> Objects:
        return Objects(self)

    @cached_property
    def shallow_commits(self) -> frozenset[str]:
        """Commits whose parents a shallow clone left out."""
        where = self.run("rev-parse", "--git-path", "shallow").decode().strip()
        try:
            return frozenset((self.path / where).read_text().split())
        except FileNotFoundError:
            return frozenset()

    def ask(self, *args: str, input: bytes | None = None, env: dict[str, str] | None = None) -> Answer:
        """Run git once; the caller looks at the exit code."""
        try:
            return subprocess.run(self.command(args), input=input, capture_output=True, env=self.environment(env))
        except FileNotFoundError as problem:
            raise Unavailable("the program 'git' is not on PATH; install git 2.31 or newer") from problem

    def run(self, *args: str, input: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
        """Run git once; its failure is an error that carries git's own words."""
        answer = self.ask(*args, input=input, env=env)
        if answer.returncode:
            raise BadInput(f"git {args[0]} failed in {str(self.path)!r}: {_reason(answer)}")
        return answer.stdout

    def stream(self, *args: str, stdin: int | None = subprocess.DEVNULL) -> Iterator[bytes]:
        """The output of one git process in pieces of bounded size, while it works. A failure is raised at its end."""
        try:
            process = subprocess.Popen(
                self.command(args),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.environment(None),
            )
        except FileNotFoundError as problem:
            raise Unavailable("the program 'git' is not on PATH; install git 2.31 or newer") from problem
        assert process.stdout is not None and process.stderr is not None
        _widen(process.stdout.fileno())
        try:
            while piece := os.read(process.stdout.fileno(), _PIPE_SIZE):
                yield piece
            error = process.stderr.read()
            if process.wait():
                raise BadInput(
                    f"git {args[0]} failed in {str(self.path)!r}: {error.decode('utf-8', 'replace').strip()}"
                )
        finally:
            process.kill()
            process.stdout.close()
            process.stderr.close()
            process.wait()

    def command(self, args: Sequence[str]) -> list[str]:
        return ["git", "-C", str(self.path), *args]

    def environment(self, more: dict[str, str] | None) -> dict[str, str]:
        """Ours without the variables by which an outer git (a hook, say) would point us at another repository."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        kept = {name: os.environ[name] for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM") if name in os.environ}
        return inherited | kept | _READ_ONLY | (more or {})

    def close(self) -> None:
        if "objects" in self.__dict__:
            self.objects.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _widen(pipe: int) -> None:
    """Let git work ahead of its reader by more than the usual 64 KB; a system that cannot goes on as it is."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


def _reason(answer: Answer) -> str:
    """Git's first line that says something, without its `fatal:`."""
    lines = answer.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {answer.returncode}"]
    return lines[0].removeprefix("fatal: ").removeprefix("error: ")
