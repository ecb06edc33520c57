"""The checkouts of a repository: its own folder, and further work trees made with `git worktree add`."""

from pathlib import Path

from evergold.repo.git import Repo


def checkouts(repo: Repo) -> list[Path]:
    """Their folders, the main one first; a bare repository has none of its own."""
    # A path cannot be cut at white space; the porcelain form has one attribute a line and an empty line between trees.
    listed = repo.run("worktree", "list", "--porcelain").decode("utf-8", "surrogateescape").split("\n\n")
    blocks = [block.splitlines() for block in listed if block.strip()]
    return [Path(lines[0].removeprefix("worktree ")) for lines in blocks if "bare" not in lines]


def common_folder(repo: Repo) -> Path:
    """Where the objects of a repository lie: the same for all its checkouts and their sub-folders."""
    where = repo.run("rev-parse", "--git-common-dir").decode("utf-8", "surrogateescape").rstrip("\n")
    return (repo.path / where).resolve()
