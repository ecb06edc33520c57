"""Ask a repository for commits, diffs, refs, files and checkouts.

History is read in bulk: one git process lists the commits, one makes all their diffs, and both are read while they work.
The diffs carry no context (`-U0`), which is more than a matter of size: with context git may slide the same change to
other lines. The lines of `git diff -U0` are the ones everybody can count again.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from evergold.errors import BadInput
from evergold.repo.git import Repo, path_text, split_fields

_LOG = ("log", "-z", "--format=%H%x00%P%x00%at%x00%ct%x00%an%x00%B")
_DIFF = (
    # --always names commits without a change as well, so that every id of the input is in the output.
    *("--stdin", "--always", "-r", "-p", "-M", "-U0", "--full-index", "--diff-merges=first-parent"),
    # A diff driver or text converter of the user's settings would put other lines into the diff than the file has.
    *("--no-ext-diff", "--no-textconv", "--no-color"),
)
# Git keeps any number of seconds. A year is left at both ends of the calendar, so that days can be added and taken away.
_EARLIEST, _LATEST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2, 9999))


class Commit(NamedTuple):
    """A commit. A rebase or an amendment keeps `authored` and renews `committed`."""

    id: str
    parents: tuple[str, ...]
    authored: datetime
    committed: datetime
    author: str
    message: str

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0].strip()


def commits(repo: Repo, revision: str = "HEAD", first_parent: bool = False, since: str = "") -> Iterator[Commit]:
    """The commits reachable from a revision, newest first. `since` is a date as git reads it, or a commit or tag."""
    if repo.objects.commit(revision) is None:
        raise BadInput(f"{revision!r} names no commit in {str(repo.path)!r}; give a branch, tag or commit")
    args = [*_LOG, *(["--first-parent"] if first_parent else [])]
    # A tag or commit is tried first: git takes any text for a date, and one it cannot read for the present moment.
    if since:
        args.append(f"^{start}" if (start := repo.objects.commit(since)) else f"--since={since}")
    yield from parse_log(repo.stream(*args, "--end-of-options", revision, "--"))


def timeline(repo: Repo) -> list[Commit]:
    """The commits all refs reach, newest first."""
    return list(parse_log(repo.stream(*_LOG, "--all")))


def parse_log(pieces: Iterable[bytes]) -> Iterator[Commit]:
    """Six fields a commit, none of which can hold a NUL."""
    texts = (field.decode("utf-8", "replace") for field in split_fields(pieces))
    for id, parents, authored, committed, author, message in zip(*[texts] * 6, strict=False):
        yield Commit(id, tuple(parents.split()), commit_time(authored), commit_time(committed), author, message)


def commit_time(seconds: str) -> datetime:
    """Read a time of a commit; one that Python's calendar does not have becomes the nearest day that can be counted on."""
    return datetime.fromtimestamp(min(max(int(seconds or 0), _EARLIEST), _LATEST), UTC)


def diffs(repo: Repo, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
    """For each (commit, parent): the commit and its diff against that parent ("": its first), in the order given.

    Commits are named by their full ids. The pairs are spooled to a file first: git reads it at its own pace, and nobody
    waits for anybody's full pipe.
    """
    ids: list[str] = []
    with tempfile.TemporaryFile(prefix="evergold-") as wanted:
        for commit, parent in pairs:
            wanted.write(f"{commit} {parent}".strip().encode() + b"\n")
            ids.append(commit)
        wanted.seek(0)
        yield from parse_diffs(repo.stream("diff-tree", *_DIFF, stdin=wanted.fileno()), ids)


def readable_diffs(repo: Repo, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, bytes | BadInput]]:
    """As `diffs`; for a commit whose objects are not all in this clone, the problem instead."""
    at = 0
    while at < len(pairs):
        try:
            for item in diffs(repo, pairs[at:]):
                at += 1
                yield item
        except BadInput as problem:
            # Git ends at the first object it cannot read, which is one of this commit or of the next.
            if at == len(pairs) - 1:
                yield pairs[at][0], problem
            else:
                yield from readable_diffs(repo, [pairs[at]])
            at += 1


def parse_diffs(pieces: Iterator[bytes], ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
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


def list_reachable(repo: Repo, *tips: str) -> set[str]:
    """The commits that some tips reach."""
    return set(_list_commits(repo, *tips)) if tips else set()


def branch_tips(repo: Repo, branch: str) -> list[str]:
    """Where a branch stands or stood: itself, its remote, then the tags a merge leaves behind on deleting it, newest first."""
    names = [f"refs/heads/{branch}", f"refs/remotes/origin/{branch}", *archive_tags(repo, branch)]
    return list(dict.fromkeys(tip for tip in map(repo.objects.commit, names) if tip))


def archive_tags(repo: Repo, branch: str) -> list[str]:
    """`archive/<branch>` and `archive/<branch>-N`, the highest N first: the tag of the last time it was deleted."""
    listed = repo.run("for-each-ref", "--format=%(refname)", "refs/tags/archive/").decode("utf-8", "surrogateescape")
    pattern = re.compile(rf"refs/tags/archive/{re.escape(branch)}(?:-(\d+))?")
    # N is compared as a number: as text, -10 would come before -2.
    numbered = [(int(match[1] or 0), name) for name in listed.splitlines() if (match := pattern.fullmatch(name))]
    return [name for _, name in sorted(numbered, reverse=True)]


def target_tip(repo: Repo, branch: str) -> str | None:
    """Where the branch that was merged into stands now."""
    return repo.objects.commit(f"refs/heads/{branch}") or repo.objects.commit(f"refs/remotes/origin/{branch}")


def merge_base(repo: Repo, one: str, other: str) -> str | None:
    answer = repo.ask("merge-base", one, other)
    return answer.stdout.decode().strip() or None if answer.returncode == 0 else None


def contains(repo: Repo, tip: str, commit: str) -> bool:
    return repo.ask("merge-base", "--is-ancestor", commit, tip).returncode == 0


def parents(repo: Repo, commit: str) -> list[str]:
    """Nothing for a root, and for a commit at the edge of a shallow clone."""
    return _list_commits(repo, "--parents", "--no-walk", commit)[1:]


def merges_of(repo: Repo, branch_tip: str, target: str) -> list[tuple[str, str]]:
    """(first parent, merged commit) of every merge on the target's main line that brought in work of this branch.

    The newest merge comes first. What counts is a merge of the branch's tip or of an earlier commit of the branch: one
    that was merged, worked on and merged again gives two.
    """
    listed = repo.run("rev-list", "--first-parent", "--merges", "--parents", target, "--").decode()
    # Only the first-parent line of the branch is its own work; the rest came into it from elsewhere, the target included.
    own = set(_list_commits(repo, "--first-parent", branch_tip))
    results: list[tuple[str, str]] = []
    for line in listed.splitlines():
        _, first, *others = line.split()
        results += [(first, merged) for merged in others if merged in own]
    return results


def first_parents(repo: Repo, commit: str, limit: int) -> list[str]:
    """The commit and its ancestors along first parents, newest first."""
    return _list_commits(repo, "--first-parent", f"--max-count={limit}", commit)


def _list_commits(repo: Repo, *args: str) -> list[str]:
    return repo.run("rev-list", *args, "--").decode().split()


class TreeFile(NamedTuple):
    path: str
    blob: str


def files_at(repo: Repo, commit: str) -> list[TreeFile]:
    """Every file of a commit; submodules and symbolic links are none."""
    results: list[TreeFile] = []
    for entry in repo.run("ls-tree", "-r", "-z", "--full-tree", repo.objects.require_commit(commit)).split(b"\0")[:-1]:
        header, _, path = entry.partition(b"\t")
        mode, _, blob = header.split(b" ")
        # Modes 100644 and 100755 are files; 120000 is a symbolic link, 160000 a submodule.
        if mode.startswith(b"100"):
            results.append(TreeFile(path_text(path), blob.decode()))
    return results


def grep(repo: Repo, commit: str, words: list[str], limit: int) -> list[tuple[str, int]]:
    """(path, line) of lines that hold one of the words, whatever their case; at most `limit` per file."""
    patterns = [part for word in words for part in ("-e", word)]
    options = ("grep", "-n", "-I", "-i", "-F", "-z", "--full-name", f"--max-count={limit}")
    commit = repo.objects.require_commit(commit)
    # Exit code 1 means that nothing matches, so `ask` is used and not `run`.
    answer = repo.ask(*options, *patterns, commit, "--")
    results: list[tuple[str, int]] = []
    for line in answer.stdout.split(b"\n"):
        path, _, rest = line.removeprefix(commit.encode() + b":").partition(b"\0")
        number, _, _ = rest.partition(b"\0")
        if number.isdigit():
            results.append((path_text(path), int(number)))
    return results


def checkouts(repo: Repo) -> list[Path]:
    """The folders of its work trees, the main one first; a bare repository has none of its own."""
    # A path cannot be cut at white space; the porcelain form has one attribute a line and an empty line between trees.
    listed = repo.run("worktree", "list", "--porcelain").decode("utf-8", "surrogateescape").split("\n\n")
    blocks = [block.splitlines() for block in listed if block.strip()]
    return [Path(lines[0].removeprefix("worktree ")) for lines in blocks if "bare" not in lines]


def common_folder(repo: Repo) -> Path:
    """Where the objects of a repository lie: the same for all its checkouts and their sub-folders."""
    where = repo.run("rev-parse", "--git-common-dir").decode("utf-8", "surrogateescape").rstrip("\n")
    return (repo.path / where).resolve()


def applies(repo: Repo, commit: str, diff: bytes) -> bool:
    """Whether a diff applies to a commit. Git itself is asked, in a temporary index: no work tree is needed or touched."""
    with tempfile.TemporaryDirectory(prefix="evergold-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        # The index is filled from the commit, so that `--cached` checks against that commit and not against the user's index.
        repo.run("read-tree", commit, env=index)
        options = ("--cached", "--check", "--unidiff-zero", "--whitespace=nowarn")
        return repo.ask("apply", *options, "-", input=diff, env=index).returncode == 0
