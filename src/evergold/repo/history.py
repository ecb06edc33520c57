"""History in bulk: one git process lists the commits, one makes all their diffs, and both are read while they work.

The diffs carry no context (`-U0`), which is more than a matter of size: with context git may slide the same change to
other lines. The lines of `git diff -U0` are the ones everybody can count again.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from evergold.errors import BadInput
from evergold.repo.git import Repo
from evergold.repo.timeline import commit_time

_FIELDS = "%H%x00%P%x00%at%x00%an%x00%B"
_RENAMES = "-M"
_DIFF = (
    # --always names commits without a change as well, so that every id of the input is in the output.
    "--stdin",
    "--always",
    "-r",
    "-p",
    _RENAMES,
    "-U0",
    "--full-index",
    # A diff driver or text converter of the user's settings would put other lines into the diff than the file has.
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
)


class Commit(NamedTuple):
    id: str
    parents: tuple[str, ...]
    authored: datetime
    author: str
    message: str


def commits(repo: Repo, revision: str = "HEAD", first_parent: bool = False, since: str = "") -> Iterator[Commit]:
    """The commits reachable from a revision, newest first. `since` is a date as git reads it, or a commit or tag."""
    args = ["log", "-z", f"--format={_FIELDS}", *(["--first-parent"] if first_parent else [])]
    if repo.objects.commit(revision) is None:
        raise BadInput(f"{revision!r} names no commit in {str(repo.path)!r}; give a branch, tag or commit")
    # A tag or commit is tried first: git takes any text for a date, and one it cannot read for the present moment.
    if since and (start := repo.objects.commit(since)):
        args += [f"^{start}"]
    elif since:
        args += [f"--since={since}"]
    yield from _parse_log(repo.stream(*args, "--end-of-options", revision, "--"))


def diffs(repo: Repo, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
    """For each (commit, parent): the commit and its diff against that parent, in the order given.

    Commits are named by their full ids. The pairs are spooled to a file first: git reads it at its own pace, and nobody
    waits for anybody's full pipe.
    """
    ids: list[str] = []
    with tempfile.TemporaryFile(prefix="evergold-") as wanted:
        for commit, parent in pairs:
            wanted.write(f"{commit} {parent}\n".encode())
            ids.append(commit)
        wanted.seek(0)
        yield from _parse_diffs(repo.stream("diff-tree", *_DIFF, stdin=wanted.fileno()), ids)


def _parse_log(pieces: Iterable[bytes]) -> Iterator[Commit]:
    """Five fields per commit, all ended by NUL; a message cannot hold one."""
    rest = b""
    fields: list[bytes] = []
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\0")
        fields += whole
        while len(fields) >= 5:
            yield _commit(fields[:5])
            del fields[:5]
    if rest:
        fields.append(rest)
    # The last field of the log has no NUL behind it.
    if len(fields) == 5:
        yield _commit(fields)


def _commit(fields: list[bytes]) -> Commit:
    id, parents, authored, author, message = (field.decode("utf-8", "replace") for field in fields)
    return Commit(id, tuple(parents.split()), commit_time(authored), author, message)


def _parse_diffs(pieces: Iterator[bytes], ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Cut the output at the ids, whose order is known. A line that is nothing but an id begins a commit: every line of
    a diff begins with a sign or a word."""
    # The first id has no line end in front of it; one is put there so that every mark looks the same.
    text = bytearray(b"\n")
    for at, id in enumerate(ids):
        before = _take_to(f"\n{id}\n".encode(), text, pieces)
        if at:
            yield ids[at - 1], before
    if ids:
        yield ids[-1], bytes(text[1:]) + b"".join(pieces)


def _take_to(mark: bytes, text: bytearray, pieces: Iterator[bytes]) -> bytes:
    """Take out of the text what stands before a mark, reading on as far as needed. The line end in front of it and the one
    behind the mark stay: the next mark may follow at once."""
    looked = 0
    while (at := text.find(mark, looked)) < 0:
        # The mark may be split between two pieces: the search starts again as far back as a part of it can lie.
        looked = max(0, len(text) - len(mark))
        piece = next(pieces, None)
        if piece is None:
            raise BadInput(
                f"git diff-tree ended before commit {mark.decode().strip()}; is the repository damaged? (git fsck)"
            )
        text += piece
    before = bytes(text[1 : at + 1])
    del text[: at + len(mark) - 1]
    return before
