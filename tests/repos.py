"""Real git repositories for tests, made by the real git: no author, clock or setting of this machine leaks in."""

import os
import subprocess
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}


class GitRepo:
    """A repository whose commits are one minute apart."""

    def __init__(self, path: Path, *init: str) -> None:
        self.path = path
        self.minutes = 0
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", *init)

    def git(self, *args: str, input: bytes | None = None) -> str:
        return self.git_bytes(*args, input=input).decode()

    def git_bytes(self, *args: str, input: bytes | None = None) -> bytes:
        date = f"{datetime(2026, 1, 2, 3) + timedelta(seconds=self.minutes):%Y-%m-%dT%H:%M:%SZ}"
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
            **_IDENTITY,
        }
        return subprocess.run(
            ["git", *args], cwd=self.path, env=env, check=True, capture_output=True, input=input
        ).stdout

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Put files in the work tree; None removes one."""
        for name, content in files.items():
            path = self.path / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes | None] | None = None, message: str = "Change") -> str:
        self.write(files or {})
        self.minutes += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def branch(self, name: str) -> None:
        self.git("checkout", "-q", "-b", name)

    def switch(self, name: str) -> None:
        self.git("checkout", "-q", name)

    def merge(self, name: str, *options: str) -> str:
        self.minutes += 1
        self.git("merge", "-q", *options, "-m", f"Merge {name}", name)
        return self.git("rev-parse", "HEAD").strip()

    def diff(self, *args: str) -> bytes:
        return self.git_bytes("diff", *args)


def numbered(count: int, **changed: str) -> str:
    """Lines `line 1` … `line N`; `numbered(5, l2="two")` has another second line."""
    return "".join(changed.get(f"l{number}", f"line {number}") + "\n" for number in range(1, count + 1))
