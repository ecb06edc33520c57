"""Find the base commit of a change in the target's history by what the change did to its files.

A squash, a rebase or a deleted branch leaves no ref behind, but the target's history still has the contents: the commit
that replaced an old file of the diff has that file at its parent. Every such parent is a candidate. Blobs are for searching
alone: whoever takes a candidate proves it by applying the diff (`base_commit.proves`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from evergold.extract.diff import ChangeType, FileDiff, parse_diff
from evergold.repo.changes import ChangeIndex, PathChange
from evergold.repo.git import Repo

# Each candidate is proved by asking git for every file; the list is ranked, so the right one is nearly always first.
MOST_CANDIDATES = 200
EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # git knows it in every repository
_WITHOUT_OLD = (ChangeType.ADDED, ChangeType.COPIED)


class Step(NamedTuple):
    """What the change did at one path. A blob may be abbreviated, None where the file is absent, "" where unknown."""

    path: str
    old_blob: str | None
    new_blob: str | None

    def replaced_by(self, change: PathChange) -> bool:
        """Whether the commit replaced the old content of this step."""
        return _same(change.old_blob, self.old_blob)

    def made_by(self, change: PathChange) -> bool:
        return self.replaced_by(change) and _same(change.new_blob, self.new_blob)


@dataclass
class Candidate:
    """A commit that may be the base, the commit after it that changed its files, and what speaks for it."""

    commit: str
    changed_by: str
    made: int = 0
    replaced: int = 0
    steps: int = 0
    other_files: int = 0
    evidence: list[str] = field(default_factory=list)

    def describe(self) -> list[str]:
        """What speaks for this candidate, the strongest first."""
        after = self.changed_by[:12]
        if self.made == self.steps and not self.other_files:
            return [f"commit {after} makes exactly this change"]
        if self.made == self.steps:
            return [f"commit {after} makes this change and touches {self.other_files} other files"]
        reasons = []
        if self.made:
            reasons.append(f"commit {after} makes {self.made} of {self.steps} file changes")
        if self.replaced > self.made:
            reasons.append(f"commit {after} replaces {self.replaced} of {self.steps} old files")
        return reasons


def steps_of(files: Sequence[FileDiff]) -> list[Step]:
    """What a diff did, path by path; a rename is a removal and an addition."""
    steps: list[Step] = []
    for file in files:
        if file.submodule:
            continue
        if file.type in _WITHOUT_OLD or file.old_path is None:
            steps.append(Step(file.new_path or "", None, file.new_blob or ""))
        elif file.new_path is None:
            steps.append(Step(file.old_path, file.old_blob or "", None))
        elif file.old_path != file.new_path:
            steps.append(Step(file.old_path, file.old_blob or "", None))
            steps.append(Step(file.new_path, None, file.new_blob or ""))
        else:
            steps.append(Step(file.old_path, file.old_blob or "", file.new_blob or ""))
    return steps


def steps_between(earlier: Sequence[FileDiff], later: Sequence[FileDiff]) -> list[Step]:
    """What happened between two diffs against one base; nothing where a diff names no blobs."""
    before = {step.path: step for step in steps_of(earlier)}
    after = {step.path: step for step in steps_of(later)}
    steps: list[Step] = []
    for path in dict.fromkeys([*after, *before]):
        old = before[path].new_blob if path in before else after[path].old_blob
        new = after[path].new_blob if path in after else before[path].old_blob
        # A diff without index lines names no blobs, and without them the two states cannot be compared.
        if "" in (old, new):
            return []
        # Blobs may be shortened differently in the two diffs, so each may be the beginning of the other.
        if not _same(old, new) and not _same(new, old):
            steps.append(Step(path, old, new))
    return steps


def candidates(index: ChangeIndex, steps: Sequence[Step]) -> list[Candidate]:
    """Commits at which the files of a change may be in their old state, the likeliest first.

    A change that only adds files has no old content to recognise: there only a commit that makes it counts.
    """
    only_added = all(step.old_blob is None for step in steps)
    results: dict[str, Candidate] = {}
    for step in steps:
        for change in _matching(index, step, only_added):
            # A root commit has no state before it.
            if change.parent is None:
                continue
            candidate = results.setdefault(change.commit, Candidate(change.parent, change.commit, steps=len(steps)))
            candidate.replaced += 1
            candidate.made += step.made_by(change)
    for candidate in results.values():
        # Files that the commit touched and this change did not: a squash of several changes has many.
        candidate.other_files = index.files_of[candidate.changed_by] - candidate.replaced
        candidate.evidence = candidate.describe()
    ranked = sorted(results.values(), key=_rank)
    return ranked[:MOST_CANDIDATES]


def holds(repo: Repo, commit: str, step: Step) -> bool:
    """Whether a commit has the old state of a step."""
    entry = repo.objects.at(commit, step.path)
    return _same(entry.id if entry else None, step.old_blob)


def files_of(repo: Repo, steps: Sequence[Step]) -> list[FileDiff] | None:
    """Compute the diff that steps stand for from their blobs; None where the repository has lost one."""
    files: list[FileDiff] = []
    for step in steps:
        if step.old_blob is None:
            files.append(FileDiff(None, step.path, ChangeType.ADDED, None, step.new_blob))
            continue
        # The missing side of an added or deleted file is compared with the empty blob.
        blobs = [repo.objects.find(blob or EMPTY_BLOB) for blob in (step.old_blob, step.new_blob)]
        if blobs[0] is None or (step.new_blob and blobs[1] is None):
            return None
        old, new = (blob.id if blob else EMPTY_BLOB for blob in blobs)
        parsed = parse_diff(repo.run("diff", "--no-ext-diff", "--no-textconv", "--no-color", old, new, "--"))
        kind = ChangeType.MODIFIED if step.new_blob else ChangeType.DELETED
        file = parsed[0] if parsed else FileDiff(None, None, kind)
        new_path = step.path if step.new_blob else None
        files.append(
            replace(
                file, old_path=step.path, new_path=new_path, type=kind, old_blob=step.old_blob, new_blob=step.new_blob
            )
        )
    return files


def _matching(index: ChangeIndex, step: Step, only_added: bool) -> Iterator[PathChange]:
    for change in index.of_path(step.path):
        if step.made_by(change) if only_added else step.replaced_by(change):
            yield change


def _rank(candidate: Candidate) -> tuple[int, int, int, int]:
    """Sort key: commits that make the whole change, then most of it, then replace most of it, with the fewest others."""
    whole = candidate.made == candidate.steps
    return (not whole, -candidate.made, -candidate.replaced, candidate.other_files)


def _same(full: str | None, wanted: str | None) -> bool:
    if wanted is None or full is None:
        return wanted is full
    # A diff names blobs by their first digits; "" (unknown) matches any.
    return full.startswith(wanted)
