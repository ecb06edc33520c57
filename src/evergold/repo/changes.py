"""Index the history of a branch by path: which commit changed which file from which content to which.

One `git log --raw` reads it all; after that a question costs microseconds. A merge is listed with what it brought to its
first parent, and the commits it brought are listed as well.
"""

from collections.abc import Iterator
from typing import NamedTuple

from evergold.repo.git import Repo
from evergold.repo.quoting import path_text

# A bound on memory, which grows with every listed change.
MOST_COMMITS = 200_000
_ABSENT = b"0"


class PathChange(NamedTuple):
    """One file in one commit. A blob is None on the side where the file does not exist."""

    commit: str
    parent: str | None
    old_blob: str | None
    new_blob: str | None


class ChangeIndex:
    """The changes of every path in the history of a commit, the newest first."""

    def __init__(self, changes: Iterator[tuple[str, PathChange]]) -> None:
        self._by_path: dict[str, list[PathChange]] = {}
        self.files_of: dict[str, int] = {}
        for path, change in changes:
            self._by_path.setdefault(path, []).append(change)
            self.files_of[change.commit] = self.files_of.get(change.commit, 0) + 1

    def of_path(self, path: str) -> list[PathChange]:
        return self._by_path.get(path, [])


def read_changes(repo: Repo, tip: str) -> ChangeIndex:
    """Index the history of a commit, at most its newest 200,000 commits."""
    return ChangeIndex(_changes(repo, tip))


def _changes(repo: Repo, tip: str) -> Iterator[tuple[str, PathChange]]:
    commit, parent = "", None
    tokens = _tokens(repo, tip)
    for token in tokens:
        # `log -z` puts a line end between the header of a commit
        # and its first change, so it stands before a later token.
        token = token.lstrip(b"\n")
        # The format marks the header of a commit with \x01; a raw change begins with a colon, and its path follows.
        if token.startswith(b"\x01"):
            commit, *parents = token[1:].decode().split()
            parent = parents[0] if parents else None
        elif token.startswith(b":"):
            _, _, old, new, _ = token.split()
            path = path_text(next(tokens))
            yield path, PathChange(commit, parent, _blob(old), _blob(new))


def _tokens(repo: Repo, tip: str) -> Iterator[bytes]:
    """The fields of the log, which end with a NUL each."""
    rest = b""
    # Without renames: a renamed file is then a removal and an
    # addition, both with blobs, which is what the lookup compares.
    listing = ["--raw", "--no-abbrev", "--no-renames", "--diff-merges=first-parent", "--topo-order"]
    for piece in repo.stream("log", "-z", "--format=%x01%H %P", f"--max-count={MOST_COMMITS}", *listing, tip, "--"):
        *fields, rest = (rest + piece).split(b"\0")
        yield from fields
    if rest:
        yield rest


def _blob(name: bytes) -> str | None:
    # Git writes an absent side as an id of zeros, 40 or 64 of them depending on the hash of the repository.
    return name.decode() if name.strip(_ABSENT) else None
