"""The commit the work of a case started from, and the proof that it is that one.

Branches are deleted and targets move on. So candidates are collected from what is left: the branch or its archive
tag, merges on the target's main line, commits named in the approval, and commits of the target's history that changed
these files in this way (`candidates`): a squash, a rebase or a deleted branch leaves no ref behind, but the commit
that replaced an old file of the diff has that file at its parent. The first one that *proves* is taken: every old
file of the golden diff must be there with exactly the content the diff was made against. A candidate that does not
prove is never used, however plausible: a wrong base makes every golden line wrong.

`settle` completes the proof before a person's approval makes a case golden: what a reviewer approves must be provable
later by anybody with the repository, so the full id of the commit, the blob of each file and a hash of the text of
each golden range are kept. What disproves the base is named; only an explicit override lets such a case through, and
the override stays with the case.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from evergold.extract.diff import ChangeType, FileDiff, parse_diff
from evergold.extract.golden import Approval, FileStep, Golden, same_blob, steps_of
from evergold.extract.ranges import OVERRIDE, PathSource, RangeSource, why_range_is_wrong, with_proof
from evergold.model.case import Case, RankedPath
from evergold.repo import history
from evergold.repo.git import ChangeIndex, Repo

# A bound on the proofs for a branch that was never merged.
ANCESTORS_TRIED = 1000
# Each candidate is proved by asking git for every file; the list is ranked, so the right one is nearly always first.
MOST_CANDIDATES = 200
EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # git knows it in every repository


class Base(NamedTuple):
    """A proved commit, or none and the reason why.

    `files` is set where the golden part was computed again against this commit. `evidence` says what speaks for the
    commit where it was recognised by content.
    """

    commit: str | None
    reason: str = ""
    files: list[FileDiff] | None = None
    evidence: tuple[str, ...] = ()


@dataclass
class Candidate:
    """A commit that may be the base, the commit after it that changed its files, and what speaks for it."""

    commit: str
    changed_by: str
    made: int = 0
    replaced: int = 0
    steps: int = 0
    other_files: int = 0

    @property
    def evidence(self) -> tuple[str, ...]:
        """What speaks for this candidate, the strongest first."""
        after = self.changed_by[:12]
        if self.made == self.steps:
            others = f"this change and touches {self.other_files} other files" if self.other_files else ""
            return (f"commit {after} makes {others or 'exactly this change'}",)
        made = (f"commit {after} makes {self.made} of {self.steps} file changes",) if self.made else ()
        if self.replaced > self.made:
            return (*made, f"commit {after} replaces {self.replaced} of {self.steps} old files")
        return made


def derive_base(repo: Repo, approval: Approval, golden: Golden) -> Base:
    """Find and prove the base commit of a case."""
    if not golden.proof:
        return Base(None, "the approval shows no diff to prove a base commit with")
    if golden.steps and (base := _after_earlier_cases(repo, approval, golden)):
        return base
    # Each candidate is proved once, although several refs may lead to it.
    tried: set[str] = set()
    for commit in _candidates(repo, approval):
        if commit not in tried and proves(repo, commit, golden):
            return _unless_files_are_missing(Base(commit), golden)
        tried.add(commit)
    for candidate in ranked_candidates(repo, approval.target_branch, golden.proof):
        if candidate.commit not in tried and proves(repo, candidate.commit, golden):
            return _unless_files_are_missing(Base(candidate.commit, evidence=candidate.evidence), golden)
        tried.add(candidate.commit)
    return Base(None, _why_not(repo, approval, tried))


def ranked_candidates(repo: Repo, target_branch: str | None, files: list[FileDiff]) -> list[Candidate]:
    """Commits of the target's history that may be the base of a change, by content, the likeliest first; unproved."""
    tip = (history.target_tip(repo, target_branch) if target_branch else None) or repo.objects.commit("HEAD")
    if tip is None:
        return []
    return candidates(repo.changes(tip), steps_of(files))


def candidates(index: ChangeIndex, steps: Sequence[FileStep]) -> list[Candidate]:
    """Commits at which the files of a change may be in their old state, the likeliest first.

    A change that only adds files has no old content to recognise: there only a commit that makes it counts.
    """
    only_added = all(step.old_blob is None for step in steps)
    results: dict[str, Candidate] = {}
    for step in steps:
        for change in index.of_path(step.path):
            matches = step.made_by(change) if only_added else step.replaced_by(change)
            # A root commit has no state before it.
            if not matches or change.parent is None:
                continue
            candidate = results.setdefault(change.commit, Candidate(change.parent, change.commit, steps=len(steps)))
            candidate.replaced += 1
            candidate.made += step.made_by(change)
    for candidate in results.values():
        # Files that the commit touched and this change did not: a squash of several changes has many.
        candidate.other_files = index.files_of[candidate.changed_by] - candidate.replaced
    return sorted(results.values(), key=_rank)[:MOST_CANDIDATES]


def _rank(candidate: Candidate) -> tuple[int, int, int, int]:
    """Sort key: commits that make the whole change, then most of it, then replace most of it, with the fewest others."""
    whole = candidate.made == candidate.steps
    return (not whole, -candidate.made, -candidate.replaced, candidate.other_files)


def holds(repo: Repo, commit: str, step: FileStep) -> bool:
    """Whether a commit has the old state of a step."""
    entry = repo.objects.at(commit, step.path)
    return same_blob(entry.id if entry else None, step.old_blob)


def files_of(repo: Repo, steps: Sequence[FileStep]) -> list[FileDiff] | None:
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


def _after_earlier_cases(repo: Repo, approval: Approval, golden: Golden) -> Base | None:
    """The commit at which a later case of a flow began: the target has the earlier cases and not yet this one."""
    tip = history.target_tip(repo, approval.target_branch) if approval.target_branch else None
    files = files_of(repo, golden.steps) if tip else None
    if tip is None or files is None:
        return None
    for candidate in candidates(repo.changes(tip), golden.steps):
        if all(holds(repo, candidate.commit, step) for step in golden.steps):
            return Base(candidate.commit, files=files, evidence=candidate.evidence)
    return None


def _unless_files_are_missing(base: Base, golden: Golden) -> Base:
    """Refuse a base that lacks a file which an earlier case of the flow added and this case changed."""
    changed = {step.path for step in golden.steps if step.old_blob is not None}
    for file in golden.files:
        if file.type is ChangeType.ADDED and file.new_path in changed:
            return Base(None, f"{file.new_path} was added by an earlier case; no commit of the target has that state")
    return base


def proves(repo: Repo, commit: str, golden: Golden) -> bool:
    """Old blobs where the diff names them; `git apply --check` for the rest. A diff of nothing proves nothing."""
    if not golden.proof or not all(_was_there(repo, commit, file) for file in golden.proof):
        return False
    # Content was compared where the diff names blobs; an addition, a rename or a mode change has none to compare.
    if all(file.old_blob is not None or file.type is ChangeType.ADDED or not file.hunks for file in golden.proof):
        return True
    text = golden.proof_text if golden.proof_text.endswith("\n") else golden.proof_text + "\n"
    return history.applies(repo, commit, text.encode("utf-8", "surrogatepass"))


def _candidates(repo: Repo, approval: Approval) -> Iterator[str]:
    """Likely ones first. The tip of the target as it is today is never among them for its own sake."""
    tips = history.branch_tips(repo, approval.source_branch) if approval.source_branch else []
    target = history.target_tip(repo, approval.target_branch) if approval.target_branch else None
    for tip in tips if target else []:
        assert target is not None
        # A tip inside the target has itself as merge base with it, which is the end of the work and not its beginning.
        if not history.contains(repo, target, tip) and (base := history.merge_base(repo, tip, target)):
            yield base
        for before, merged in history.merges_of(repo, tip, target):
            if base := history.merge_base(repo, before, merged):
                yield base
    for tip in tips if target else []:
        yield from history.first_parents(repo, tip, ANCESTORS_TRIED)[1:]
    for name in approval.named_objects:
        if commit := repo.objects.commit(name):
            # A named commit is the merge or its tip: the state before it is its first parent.
            yield from history.parents(repo, commit)[:1]


def _why_not(repo: Repo, approval: Approval, tried: set[str]) -> str:
    if tried:
        return f"none of {len(tried)} candidate commits has the files the diff was made against"
    if not approval.source_branch:
        return "the approval names no source branch"
    if not history.branch_tips(repo, approval.source_branch):
        return f"branch {approval.source_branch!r} and its archive tag are gone"
    return f"target branch {approval.target_branch!r} is not in the repository"


def _was_there(repo: Repo, commit: str, file: FileDiff) -> bool:
    """Whether the old side of a file is what the commit holds; a file the diff adds must not be there."""
    if file.old_path is None:
        return file.submodule or file.new_path is None or repo.objects.at(commit, file.new_path) is None
    if file.submodule:
        # A submodule's commit is no object here, so it is asked for by name.
        answer = repo.ask("rev-parse", "--verify", "--quiet", f"{commit}:{file.old_path}")
        return answer.returncode == 0 and answer.stdout.decode().startswith(file.old_blob or "")
    result = repo.objects.at(commit, file.old_path)
    if result is None or result.kind != "blob":
        return False
    return file.old_blob is None or result.id.startswith(file.old_blob)


MANUAL = "manual"
GOLDEN = frozenset({str(RangeSource.GOLDEN_DIFF), MANUAL})


class Settled(NamedTuple):
    """The case with what the repository says of it, and what disproves its base commit."""

    case: Case
    problems: tuple[str, ...] = ()


def settle(case: Case, repo: Repo, diff: str | None) -> Settled:
    """Complete the proof of a context case from the repository; `diff` is the approved change where it is known."""
    commit = repo.objects.commit(case.base_commit or "")
    if commit is None:
        return Settled(case, (f"commit {case.base_commit!r} is not in the repository",))
    problems: list[str] = []
    if diff and not history.applies(repo, commit, diff.encode("utf-8", "surrogateescape")):
        problems.append(f"the approved diff does not apply to commit {commit[:12]}")
    ranges = case.ranges
    for source in GOLDEN:
        ranges = with_proof(ranges, repo, commit, source)
    golden = (item for item in ranges if GOLDEN & set(item.sources))
    problems += [problem for item in golden if (problem := why_range_is_wrong(item, repo, commit))]
    # An earlier verdict is dropped: it was made about another state of the case.
    metadata = {key: value for key, value in case.metadata.items() if key != "baseVerified"}
    # Without a diff only the ranges were proved, which is less than the flag promises.
    if not problems and diff:
        metadata["baseVerified"] = True
    paths = tuple(_with_blob(item, repo, commit) for item in case.paths)
    update = {"base_commit": commit, "ranges": ranges, "paths": paths, "metadata": metadata}
    return Settled(case.model_copy(update=update), tuple(dict.fromkeys(problems)))


def overridden(case: Case, by: str, why: str, problems: tuple[str, ...]) -> Case:
    """Keep with the case that a person approved it against what the repository says."""
    note: dict[str, Any] = {"by": by, "why": why, "problems": list(problems)}
    metadata = {key: value for key, value in case.metadata.items() if key != "baseVerified"}
    return case.model_copy(update={"metadata": metadata | {OVERRIDE: note}})


def _with_blob(item: RankedPath, repo: Repo, commit: str) -> RankedPath:
    if PathSource.REVIEW_MERGE_DIFF not in item.sources and MANUAL not in item.sources:
        return item
    entry = repo.objects.at(commit, item.path)
    if entry is None or entry.kind != "blob":
        return item
    return item.model_copy(update={"extra": {**item.extra, "blobSha": entry.id}})
