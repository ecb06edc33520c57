"""The files of a commit, and searches in them."""

from typing import NamedTuple

from evergold.repo.git import Repo
from evergold.repo.quoting import path_text


class TreeFile(NamedTuple):
    path: str
    blob: str


def files_at(repo: Repo, commit: str) -> list[TreeFile]:
    """Every file of a commit; submodules and symbolic links are none."""
    listed = repo.run("ls-tree", "-r", "-z", "--full-tree", commit)
    results: list[TreeFile] = []
    for entry in listed.split(b"\0")[:-1]:
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
    # Exit code 1 means that nothing matches, so `ask` is used and not `run`.
    answer = repo.ask(*options, *patterns, commit, "--")
    results: list[tuple[str, int]] = []
    for line in answer.stdout.split(b"\n"):
        path, _, rest = line.removeprefix(commit.encode() + b":").partition(b"\0")
        number, _, _ = rest.partition(b"\0")
        if number.isdigit():
            results.append((path_text(path), int(number)))
    return results
