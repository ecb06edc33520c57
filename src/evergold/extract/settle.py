"""Settle the base commit of a case before a person's approval makes it golden.

What a reviewer approves must be provable later by anybody with the repository: the full id of the commit, the blob of each
file and a hash of the text of each golden range. What disproves the base is named; only an explicit override lets such a
case through, and the override stays with the case.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from evergold.extract.fingerprint import with_proof
from evergold.extract.prove import why_range_is_wrong
from evergold.extract.ranking import PathSource, RangeSource
from evergold.model.case import Case, LineRange, RankedPath
from evergold.repo.git import Repo
from evergold.repo.patch import applies

OVERRIDE = "baseOverride"
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
    if diff and not applies(repo, commit, diff.encode("utf-8", "surrogateescape")):
        problems.append(f"the approved diff does not apply to commit {commit[:12]}")
    ranges = case.ranges
    for source in GOLDEN:
        ranges = with_proof(ranges, repo, commit, source)
    problems += [problem for item in ranges if (problem := _wrong_with(item, repo, commit))]
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


def override_of(case: Case) -> Mapping[str, Any] | None:
    """The override a row brought along or a reviewer gave."""
    note = case.metadata.get(OVERRIDE) or case.extra.get(OVERRIDE)
    return note if isinstance(note, Mapping) else None


def _wrong_with(item: LineRange, repo: Repo, commit: str) -> str | None:
    return why_range_is_wrong(item, repo, commit) if GOLDEN & set(item.sources) else None


def _with_blob(item: RankedPath, repo: Repo, commit: str) -> RankedPath:
    if PathSource.REVIEW_MERGE_DIFF not in item.sources and MANUAL not in item.sources:
        return item
    entry = repo.objects.at(commit, item.path)
    if entry is None or entry.kind != "blob":
        return item
    return item.model_copy(update={"extra": {**item.extra, "blobSha": entry.id}})
