"""Find and prove the base of a change: the commit its work started from.

`prove(change, repository)` is the one proof: the extractor looks for a base with it, the validator asks it about the
base a person typed, `check --repo` about the rows of a file. They can therefore not disagree.

Branches are deleted and targets move on. So candidates are collected from what is left: the branch or its archive
tag, merges on the target's main line, commits named in the approval, and commits of the target's history that changed
these files in this way: a squash, a rebase or a deleted branch leaves no ref behind, but the commit that replaced an
old file of the diff has that file at its parent. The first one that *proves* is taken: every old file of the golden
diff must be there with exactly the content the diff was made against. A candidate that does not prove is never used,
however plausible: a wrong base makes every golden line wrong.

`settle` completes the proof before a person's approval makes a case golden: what a reviewer approves must be provable
later by anybody with the repository, so the full id of the commit, the blob of each file and a hash of the text of
each golden range are kept. What disproves the base is named; only a person's written reason lets such a case through,
and the reason stays with the case.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from evergold.extract.diff import ChangeType, FileDiff, Hunk, parse_diff
from evergold.extract.golden import FileStep, Golden, golden_of, same_blob, steps_of
from evergold.extract.ranges import PathSource, RangeSource, why_range_is_wrong, with_proof
from evergold.model.case import Case, RankedPath
from evergold.model.flow import CodeChange
from evergold.repo import history
from evergold.repo.git import ChangeIndex, Repo, path_bytes, split_lines
from evergold.store.database.rows import batches

# A bound on the proofs for a branch that was never merged.
ANCESTORS_TRIED = 1000
# Each candidate is proved by asking git for every file; the list is ranked, so the right one is nearly always first.
MOST_CANDIDATES = 200
MANUAL = "manual"
GOLDEN = frozenset({str(RangeSource.GOLDEN_DIFF), MANUAL})
OVERRIDE = "baseOverride"
SHALLOW = "the clone is shallow: git fetch --unshallow"
_MAY_BE_NEW = (None, "added")  # a row made elsewhere does not say how a path changed
_COMMIT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_UNREADABLE = "\ufffd"  # stands for a byte of a path that was no UTF-8 when the diff was stored


class BaseProof(NamedTuple):
    """What the repository says of a base: proved where `problems` is empty.

    `files` is set where the golden part was computed again against this commit. `evidence` says what speaks for the
    commit where it was recognised by content.
    """

    commit: str | None
    problems: tuple[str, ...] = ()
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


def prove(change: CodeChange, repo: Repo, base: str | None = None, explain: bool = True) -> BaseProof:
    """Prove that a change was made on a base or, with none given, find the base at which it proves.

    `explain` looks for what speaks for a base that was given, which takes the history of the target.
    """
    commit = repo.objects.commit(base) if base is not None else None
    if base is not None and commit is None:
        shallow = f" ({SHALLOW})" if repo.shallow_commits else ""
        return BaseProof(None, (f"commit {base} is not in the repository{shallow}",))
    if commit is not None and not change.diff:
        return BaseProof(commit)
    golden = _find_paths(golden_of(change), repo, change)
    if commit is not None:
        proof = _prove_at(change, golden, repo, commit)
        if proof.problems or not explain:
            return proof
        matched = _by_content(change, golden.steps or steps_of(golden.proof), repo)
        return proof._replace(evidence=next((one.evidence for one in matched if one.commit == commit), ()))
    if not golden.proof:
        return BaseProof(None, ("the approval shows no diff to prove a base commit with",))
    tried = 0
    missing: tuple[str, ...] = ()
    for proof in _proofs(change, golden, repo):
        if not proof.problems:
            return proof
        tried += 1
        missing = missing or tuple(problem for problem in proof.problems if "earlier case" in problem)
    return BaseProof(None, missing or (_why_not(repo, change, tried),))


def find_bases(change: CodeChange, repo: Repo, most: int) -> list[BaseProof]:
    """The commits at which a change proves, the likeliest first; the first is the one `prove` finds."""
    golden = _find_paths(golden_of(change), repo, change)
    proofs = _proofs(change, golden, repo) if golden.proof else ()
    return list(islice((proof for proof in proofs if not proof.problems), most))


def _proofs(change: CodeChange, golden: Golden, repo: Repo) -> Iterator[BaseProof]:
    """Try each likely base once; of the ancestors of a branch only those up to the first that proves."""
    tried: set[str] = set()
    ranked = [*_by_content(change, golden.steps, repo)] if golden.steps else []
    for candidate in ranked:
        if candidate.commit not in tried:
            yield _prove_at(change, golden, repo, candidate.commit)._replace(evidence=candidate.evidence)
        tried.add(candidate.commit)
    for commit in _from_refs(repo, change):
        if commit not in tried:
            proof = _prove_at(change, golden, repo, commit)
            yield proof
            if not proof.problems:
                break
        tried.add(commit)
    for candidate in _by_content(change, steps_of(golden.proof), repo):
        if candidate.commit not in tried:
            yield _prove_at(change, golden, repo, candidate.commit)._replace(evidence=candidate.evidence)
        tried.add(candidate.commit)


def _prove_at(change: CodeChange, golden: Golden, repo: Repo, commit: str) -> BaseProof:
    """The verdict on one commit."""
    # A later case of a flow: the target has the earlier cases and not yet this one.
    if golden.steps and all(holds(repo, commit, step) for step in golden.steps):
        files, tip = files_of(repo, golden), _tip(change, repo)
        # A commit of the branch has that state too, and is gone with the branch.
        if files is not None and tip and history.contains(repo, tip, commit):
            return BaseProof(commit, files=files)
    if not proves(repo, commit, golden):
        return BaseProof(commit, (f"the approved diff does not apply to commit {commit[:12]}",))
    changed = {step.path for step in golden.steps if step.old_blob is not None}
    for file in golden.files:
        if file.type is ChangeType.ADDED and file.new_path in changed:
            problem = f"{file.new_path} was added by an earlier case; no commit of the target has that state"
            return BaseProof(commit, (problem,))
    return BaseProof(commit, files=golden.files)


def _by_content(change: CodeChange, steps: Sequence[FileStep], repo: Repo) -> list[Candidate]:
    """Commits of the target's history that may be the base of a change, the likeliest first; unproved."""
    tip = _tip(change, repo)
    return candidates(repo.changes(tip), steps) if tip and steps else []


def _tip(change: CodeChange, repo: Repo) -> str | None:
    target = history.target_tip(repo, change.target_branch) if change.target_branch else None
    return target or repo.objects.commit("HEAD")


def _find_paths(golden: Golden, repo: Repo, change: CodeChange) -> Golden:
    """Give paths that are no UTF-8 their bytes back: a diff that was stored as text has lost them."""
    paths = {path for file in golden.proof for path in (file.old_path, file.new_path) if path and _UNREADABLE in path}
    tip = _tip(change, repo) if paths else None
    if tip is None:
        return golden
    known = {path_bytes(path).decode("utf-8", "replace"): path for path in repo.changes(tip).quoted_paths()}

    def rename(path: str | None) -> str | None:
        return known.get(path, path) if path else path

    def mend(files: list[FileDiff]) -> list[FileDiff]:
        return [replace(file, old_path=rename(file.old_path), new_path=rename(file.new_path)) for file in files]

    steps = [step._replace(path=rename(step.path) or "") for step in golden.steps]
    return replace(golden, files=mend(golden.files), proof=mend(golden.proof), steps=steps)


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
    # Commits that make the whole change come first, then most of it, then replace most of it, with the fewest others.
    ranked = sorted(
        results.values(), key=lambda one: (one.made != one.steps, -one.made, -one.replaced, one.other_files)
    )
    return ranked[:MOST_CANDIDATES]


def _diff_blobs(repo: Repo, blobs: list[str]) -> FileDiff:
    """The lines that differ between two blobs, or all of one that was deleted; a binary file has none."""
    contents = repo.objects.read_many(blobs)
    # As git does: a zero byte in the first 8,000 means binary.
    if any(b"\0" in content[:8000] for content in contents):
        return FileDiff(None, None, ChangeType.MODIFIED, binary=True)
    if len(blobs) > 1:
        parsed = parse_diff(repo.run("diff", "--no-ext-diff", "--no-textconv", "--no-color", *blobs, "--"))
        return parsed[0] if parsed else FileDiff(None, None, ChangeType.MODIFIED)
    lines = [b"-" + line.removesuffix(b"\n") for line in split_lines(contents[0])]
    hunks = [Hunk(1, len(lines), 0, 0, b"-" * len(lines), lines)] if lines else []
    return FileDiff(None, None, ChangeType.DELETED, hunks=hunks)


def holds(repo: Repo, commit: str, step: FileStep) -> bool:
    """Whether a commit has the old state of a step."""
    entry = repo.objects.read_at(commit, step.path)
    return same_blob(entry.id if entry else None, step.old_blob)


def files_of(repo: Repo, golden: Golden) -> list[FileDiff] | None:
    """Compute the diff that steps stand for from their blobs; None where the repository has lost one."""
    files: list[FileDiff] = []
    steps = {step.path: step for step in golden.steps}
    renamed = {file.old_path: file.new_path for file in golden.proof if file.type is ChangeType.RENAMED}
    arrived = {new for old, new in renamed.items() if old in steps and new in steps and steps[old].new_blob is None}
    for step in golden.steps:
        if step.path in arrived and step.old_blob is None:
            continue
        target = renamed.get(step.path)
        if target in arrived and steps[target].old_blob is None:
            # A rename is two steps: what left one path and what came to the other.
            step = step._replace(new_blob=steps[target].new_blob)
        else:
            target = None
        if step.old_blob is None:
            files.append(FileDiff(None, step.path, ChangeType.ADDED, None, step.new_blob))
            continue
        blobs = [repo.objects.find(blob) for blob in (step.old_blob, step.new_blob) if blob]
        if None in blobs:
            return None
        file = _diff_blobs(repo, [blob.id for blob in blobs if blob])
        kind = ChangeType.RENAMED if target else ChangeType.MODIFIED if step.new_blob else ChangeType.DELETED
        new_path = target or (step.path if step.new_blob else None)
        file.old_path, file.new_path, file.type = step.path, new_path, kind
        file.old_blob, file.new_blob = step.old_blob, step.new_blob
        files.append(file)
    return files


def proves(repo: Repo, commit: str, golden: Golden) -> bool:
    """Old blobs where the diff names them; `git apply --check` for the rest. A diff of nothing proves nothing."""
    if not golden.proof or not all(_was_there(repo, commit, file) for file in golden.proof):
        return False
    # Content was compared where the diff names blobs; an addition, a rename or a mode change has none to compare.
    if all(file.old_blob is not None or file.type is ChangeType.ADDED or not file.hunks for file in golden.proof):
        return True
    text = golden.proof_text if golden.proof_text.endswith("\n") else golden.proof_text + "\n"
    return history.applies(repo, commit, text.encode("utf-8", "surrogatepass"))


def _from_refs(repo: Repo, change: CodeChange) -> Iterator[str]:
    """Likely ones first. The tip of the target as it is today is never among them for its own sake."""
    target = history.target_tip(repo, change.target_branch) if change.target_branch else None
    tips = history.branch_tips(repo, change.source_branch) if change.source_branch and target else []
    for tip in tips:
        assert target is not None
        # A tip inside the target has itself as merge base with it, which is the end of the work and not its beginning.
        if not history.contains(repo, target, tip) and (base := history.merge_base(repo, tip, target)):
            yield base
        for before, merged in history.merges_of(repo, tip, target):
            if base := history.merge_base(repo, before, merged):
                yield base
    for tip in tips:
        yield from history.first_parents(repo, tip, ANCESTORS_TRIED)[1:]
    for name in change.named_commits:
        if commit := repo.objects.commit(name):
            # A named commit is the merge or its tip: the state before it is its first parent.
            yield from history.parents(repo, commit)[:1]


def _why_not(repo: Repo, change: CodeChange, tried: int) -> str:
    if repo.shallow_commits:
        return f"none of {tried} candidate commits proves, and {SHALLOW}"
    if tried:
        return f"none of {tried} candidate commits has the files the diff was made against"
    if not change.source_branch:
        return "the approval names no source branch"
    if not history.branch_tips(repo, change.source_branch):
        return f"branch {change.source_branch!r} and its archive tag are gone"
    return f"target branch {change.target_branch!r} is not in the repository"


def _was_there(repo: Repo, commit: str, file: FileDiff) -> bool:
    """Whether the old side of a file is what the commit holds; a file the diff adds must not be there."""
    if file.old_path is None:
        return file.submodule or file.new_path is None or repo.objects.read_at(commit, file.new_path) is None
    if file.submodule:
        # A submodule's commit is no object here, so it is asked for by name.
        answer = repo.ask("rev-parse", "--verify", "--quiet", f"{commit}:{file.old_path}")
        return answer.returncode == 0 and answer.stdout.decode().startswith(file.old_blob or "")
    result = repo.objects.read_at(commit, file.old_path)
    if result is None or result.kind != "blob":
        return False
    return file.old_blob is None or result.id.startswith(file.old_blob)


class Settled(NamedTuple):
    """The case with what the repository says of it, and what disproves its base commit."""

    case: Case
    problems: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


def settle(case: Case, repo: Repo, change: CodeChange) -> Settled:
    """Complete the proof of a context case from the repository."""
    proof = prove(change, repo, case.base_commit or "")
    if proof.commit is None:
        return Settled(case, proof.problems)
    commit, ranges = proof.commit, case.ranges
    # A person may have moved the ends of a range since its text was hashed; the file must be the same all the same.
    unhashed = [item.model_copy(update={"text_hash": None}) for item in ranges]
    wrong, _ = _compare(case.model_copy(update={"ranges": tuple(unhashed)}), repo, commit)
    for source in GOLDEN:
        ranges = with_proof(ranges, repo, commit, source)
    problems = tuple(dict.fromkeys([*proof.problems, *wrong]))
    # An earlier verdict is dropped: it was made about another state of the case.
    metadata = {key: value for key, value in case.metadata.items() if key != "baseVerified"}
    # Without a diff only the ranges were proved, which is less than the flag promises.
    if not problems and change.diff:
        metadata["baseVerified"] = True
    paths: list[RankedPath] = []
    for item in case.paths:
        is_golden = {PathSource.REVIEW_MERGE_DIFF, MANUAL} & set(item.sources)
        entry = repo.objects.read_at(commit, item.path) if is_golden else None
        blob = {"blobSha": entry.id} if entry and entry.kind == "blob" else {}
        paths.append(item.model_copy(update={"extra": {**item.extra, **blob}}))
    update = {"base_commit": commit, "ranges": ranges, "paths": tuple(paths), "metadata": metadata}
    return Settled(case.model_copy(update=update), problems, proof.evidence)


def _compare(case: Case, repo: Repo, commit: str) -> tuple[list[str], int]:
    """What a commit lacks of the golden paths and ranges of a case, and how many others it lacks."""
    wrong: list[str] = []
    elsewhere = 0
    for path in case.paths:
        # `atBase: false` marks a file that the change adds: base is not expected to have it.
        if not path.extra.get("atBase", True) or repo.objects.read_at(commit, path.path) is not None:
            continue
        if PathSource.REVIEW_MERGE_DIFF in path.sources and path.extra.get("changeType") not in _MAY_BE_NEW:
            wrong.append(f"{path.path} is not in commit {commit[:12]}")
        else:
            elsewhere += 1
    for item in case.ranges:
        if problem := why_range_is_wrong(item, repo, commit):
            if GOLDEN & set(item.sources):
                wrong.append(problem)
            else:
                elsewhere += 1
    return wrong, elsewhere


@dataclass(frozen=True, slots=True)
class RowProof:
    """`stale` lists what is no longer true; `open` is why a row cannot be proved at all; `overridden` is what the
    repository said when a person approved it all the same. All empty means proved."""

    case_id: str
    stale: tuple[str, ...] = ()
    open: str = ""
    overridden: str = ""
    unproved_ranges: int = 0
    not_at_base: int = 0


def prove_rows(cases: Iterable[Case], repo: Repo) -> Iterator[RowProof]:
    """Prove each row: its base by the commit it names or the evidence it carries, its golden lines by their hashes."""
    for batch in batches(cases):
        names = {case.id: repo.objects.commit(commit_of(case)) for case in batch}
        commits = [(name, "") for name in dict.fromkeys(names.values()) if name]
        made = {name: diff for name, diff in history.readable_diffs(repo, commits) if isinstance(diff, bytes)}
        for case in batch:
            diff = made.get(names[case.id] or "", b"").decode("utf-8", "replace")
            yield _prove_row(case, repo, CodeChange(diff=diff or None))


def commit_of(case: Case) -> str:
    """The commit that a case of git history or of an agent's session is about."""
    return str(case.metadata.get("commit") or (case.id if _COMMIT_ID.fullmatch(case.id) else ""))


def _prove_row(case: Case, repo: Repo, change: CodeChange) -> RowProof:
    if not case.base_commit:
        return RowProof(case.id, open="it has no base commit")
    proof = prove(change, repo, case.base_commit, explain=False)
    if proof.commit is None:
        return RowProof(case.id, stale=proof.problems)
    wrong, elsewhere = _compare(case, repo, proof.commit)
    unhashed = [item for item in case.ranges if GOLDEN & set(item.sources) and item.text_hash is None]
    unproved = sum(not why_range_is_wrong(item, repo, proof.commit) for item in unhashed)
    # A person approved the row in spite of the problems named there; it counts apart from proved and stale rows.
    note = override_of(case)
    overridden = "; ".join(map(str, note.get("problems", ()))) or "approved by hand" if note is not None else ""
    stale = tuple(dict.fromkeys([*proof.problems, *wrong]))
    return RowProof(case.id, stale, overridden=overridden, unproved_ranges=unproved, not_at_base=elsewhere)


def override_of(case: Case) -> Mapping[str, Any] | None:
    """The override a row brought along or a reviewer gave."""
    note = case.metadata.get(OVERRIDE) or case.extra.get(OVERRIDE)
    return note if isinstance(note, Mapping) else None
