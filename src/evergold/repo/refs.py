"""Branches, tags and how they came together: what deriving a base commit asks of a repository."""

import re

from evergold.repo.git import Repo


def branch_tips(repo: Repo, branch: str) -> list[str]:
    """Where a branch stands or stood: itself, its remote, then the tags a merge leaves behind on deleting it, newest first."""
    names = [f"refs/heads/{branch}", f"refs/remotes/origin/{branch}", *archive_tags(repo, branch)]
    tips = [repo.objects.commit(name) for name in names]
    return list(dict.fromkeys(tip for tip in tips if tip))


def archive_tags(repo: Repo, branch: str) -> list[str]:
    """`archive/<branch>` and `archive/<branch>-N`, the highest N first: the tag of the last time it was deleted."""
    listed = repo.run("for-each-ref", "--format=%(refname)", "refs/tags/archive/").decode("utf-8", "surrogateescape")
    pattern = re.compile(rf"refs/tags/archive/{re.escape(branch)}(?:-(\d+))?")
    # N is compared as a number: as text, -10 would come before -2.
    numbered = [(int(match[1] or 0), name) for name in listed.splitlines() if (match := pattern.fullmatch(name))]
    return [name for _, name in sorted(numbered, reverse=True)]


def target_tip(repo: Repo, branch: str) -> str | None:
    """Where the branch that was merged into stands now."""
    for name in (f"refs/heads/{branch}", f"refs/remotes/origin/{branch}"):
        if commit := repo.objects.commit(name):
            return commit
    return None


def merge_base(repo: Repo, one: str, other: str) -> str | None:
    answer = repo.ask("merge-base", one, other)
    return answer.stdout.decode().strip() or None if answer.returncode == 0 else None


def contains(repo: Repo, tip: str, commit: str) -> bool:
    return repo.ask("merge-base", "--is-ancestor", commit, tip).returncode == 0


def parents(repo: Repo, commit: str) -> list[str]:
    """Nothing for a root, and for a commit at the edge of a shallow clone."""
    return repo.run("rev-list", "--parents", "--no-walk", commit, "--").decode().split()[1:]


def merges_of(repo: Repo, branch_tip: str, target: str) -> list[tuple[str, str]]:
    """(first parent, merged commit) of every merge on the target's main line that brought in work of this branch.

    The newest merge comes first. What counts is a merge of the branch's tip or of an earlier commit of the branch: one
    that was merged, worked on and merged again gives two.
    """
    listed = repo.run("rev-list", "--first-parent", "--merges", "--parents", target, "--").decode()
    # Only the first-parent line of the branch is its own work;
    # the rest came into it from elsewhere, the target included.
    own = set(repo.run("rev-list", "--first-parent", branch_tip, "--").decode().split())
    results: list[tuple[str, str]] = []
    for line in listed.splitlines():
        _, first, *others = line.split()
        results += [(first, merged) for merged in others if merged in own]
    return results


def first_parents(repo: Repo, commit: str, limit: int) -> list[str]:
    """The commit and its ancestors along first parents, newest first."""
    return repo.run("rev-list", "--first-parent", f"--max-count={limit}", commit, "--").decode().split()
