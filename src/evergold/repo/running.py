"""Run git without our work tree, our locks, a terminal or a network, and raise its failures as errors of ours."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from evergold.errors import BadInput, Unavailable

_READ_ONLY = {
    # Messages and dates are parsed: a translated git would write them otherwise.
    "LC_ALL": "C",
    # A read such as `git status` may refresh the index of the user; without optional locks it leaves it alone.
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A partial clone would fetch missing objects from its remote in the middle of a read.
    "GIT_NO_LAZY_FETCH": "1",
    # `refs/replace` can show other content under the same id; cases quote what the id stands for.
    "GIT_NO_REPLACE_OBJECTS": "1",
}
# A repository that somebody else made may name programs in its own settings. These win over them, so that none is run.
_NO_PROGRAMS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "log.showSignature": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
_PIPE_SIZE = 1 << 20

Answer = subprocess.CompletedProcess[bytes]


class Git:
    """Git in one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

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
            raise BadInput(f"git {args[0]} failed in {str(self.path)!r}: {reason_of(answer)}")
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
            # The reader may stop early (a generator that is closed):
            # git would wait for ever for its full pipe to be read.
            process.kill()
            process.stdout.close()
            process.stderr.close()
            process.wait()

    def command(self, args: Sequence[str]) -> list[str]:
        settings = [part for name, value in _NO_PROGRAMS.items() for part in ("-c", f"{name}={value}")]
        return ["git", "-C", str(self.path), *settings, *args]

    def environment(self, more: dict[str, str] | None) -> dict[str, str]:
        """Ours without the variables by which an outer git (a hook, say) would point us at another repository."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        # These two name files of settings, not another repository;
        # tests and CI use them to shut out those of the machine.
        kept = {name: os.environ[name] for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM") if name in os.environ}
        return inherited | kept | _READ_ONLY | (more or {})


def _widen(pipe: int) -> None:
    """Let git work ahead of its reader by more than the usual 64 KB; a system that cannot goes on as it is."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


def reason_of(answer: Answer) -> str:
    """Git's first line that says something, without its `fatal:`."""
    lines = answer.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {answer.returncode}"]
    return lines[0].removeprefix("fatal: ").removeprefix("error: ")
