"""Commands that can be killed at any moment of their work, and what is asked of the workspace after it.

A command runs in a process of its own, forked from one that has loaded the program: so the moments at which it is killed lie in
its work and not in the loading of modules. What it runs is the entry of the console script.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol

from evergold import cli, workspace
from evergold.settings import Settings
from evergold.workspace import Workspace

LOADED = [
    *("tests.faults.killing", "evergold.api.app", "evergold.store.database.migrate"),
    *("evergold.generate.calls", "evergold.extract.evidence"),
    *(f"{room.__name__}.{module.name}" for room in (cli, workspace) for module in iter_modules(room.__path__)),
]
END_SECONDS = 600.0  # for a command that nobody kills, on a machine that is busy with other work
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(LOADED)


@dataclass(frozen=True)
class Fault:
    """Something that must not be: `lost`, `doubled` or `half` (written in part)."""

    kind: str
    text: str


@dataclass(frozen=True)
class Room:
    """The workspace of a campaign, and a folder beside it."""

    folder: Path
    database_url: str = ""

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def settings(self) -> Settings:
        return Settings(home=self.home, database_url=self.database_url)

    @contextmanager
    def opened(self) -> Iterator[Workspace]:
        with Workspace.open(self.settings) as workspace:
            yield workspace

    def environment(self) -> dict[str, str]:
        return {"EVERGOLD_HOME": str(self.home), "EVERGOLD_DATABASE_URL": self.database_url}


class Scene(Protocol):
    """A command that is killed again and again."""

    name: str

    def begin(self, number: int) -> Sequence[str]:
        """Make what the command needs, and give its arguments."""

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        """Give what is wrong after a kill. `done`: the command had ended by itself, with exit code 0."""

    def again(self, number: int) -> Sequence[str]:
        """Give the arguments with which a user goes on after the kill."""

    def after(self, number: int) -> Iterator[Fault]:
        """Give what is wrong after the command was run again to its end."""


class Command:
    """One command in a process of its own."""

    def __init__(self, room: Room, arguments: Sequence[str]) -> None:
        self._log = room.folder / "command.log"
        target = (list(arguments), room.environment(), str(room.folder), str(self._log))
        self._process = _processes.Process(target=_run, args=target)
        self.arguments = " ".join(arguments)

    def start(self) -> None:
        self._process.start()

    def end_within(self, seconds: float) -> bool:
        """Wait so long, then kill it if it still runs; whether it had ended by itself, with exit code 0."""
        self._process.join(seconds)
        self._process.kill()
        self._process.join()
        return self._process.exitcode == 0

    def to_the_end(self) -> float:
        """Run it and return the seconds it took; an exit code other than 0 is an error of the campaign."""
        began = time.perf_counter()
        self.start()
        self._process.join(END_SECONDS)
        if self._process.exitcode != 0:
            self._process.kill()
            self._process.join()
            said = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"evergold {self.arguments}: exit code {self._process.exitcode}\n{said}")
        return time.perf_counter() - began


def _run(arguments: list[str], environment: dict[str, str], folder: str, log: str) -> None:
    """Be the console script; called in the child."""
    with open(log, "wb", buffering=0) as written:
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["evergold", *arguments]
    cli.main()
