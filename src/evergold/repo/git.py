"""A git repository, read through the `git` program and never written.

Everything Evergold asks of git goes through `Repo`. It reads objects and refs only: it needs no work tree, so a bare
repository is as good as any; nothing is checked out, no hook runs, nothing is fetched. What is not there (no
program, no repository, a commit that a shallow clone cut off) becomes one line that says what to do.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from evergold.errors import NotFound
from evergold.repo.objects import Objects
from evergold.repo.running import Git, reason_of

if TYPE_CHECKING:
    from evergold.repo.changes import ChangeIndex


class Repo(Git):
    """One repository. Use it as a context manager: it keeps git processes open to answer many questions fast."""

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Raises NotFound for a folder that is missing or holds no repository."""
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise NotFound(f"no folder {str(path)!r}; give the folder of a git repository")
        repo = cls(folder)
        answer = repo.ask("rev-parse", "--git-dir")
        if answer.returncode:
            raise NotFound(f"{str(path)!r} cannot be read as a git repository: {reason_of(answer)}")
        return repo

    @cached_property
    def objects(self) -> Objects:
        return Objects(self)

    @cached_property
    def _indexes(self) -> "dict[str, ChangeIndex]":
        return {}

    def changes(self, tip: str) -> "ChangeIndex":
        """The indexed history of a commit, read once."""
        # The index module imports this one for its types; the import stays inside to keep the modules free of a cycle.
        from evergold.repo.changes import read_changes

        if tip not in self._indexes:
            self._indexes[tip] = read_changes(self, tip)
        return self._indexes[tip]

    def close(self) -> None:
        """End the git processes of this repository."""
        # A cached property is looked for without touching it: asking for it would start what is to be ended.
        if "objects" in self.__dict__:
            self.objects.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
