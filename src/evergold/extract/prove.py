"""Is a row still true? Prove it again against the repository: the commit, the paths, the lines, the text.

Golden entries must prove. What the agent only read is looked up too, but may name files of its own making: such an entry is
counted and makes no row stale.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evergold.extract.ranges import PathSource, RangeSource, split_lines, text_hash
from evergold.model.case import Case, LineRange
from evergold.repo.git import Repo

_MAY_BE_NEW = (None, "added")  # a row made elsewhere does not say how a path changed


@dataclass(frozen=True, slots=True)
class Proof:
    """`stale` lists what is no longer true; `open` is why a row cannot be proved at all; `overridden` is what the
    repository said when a person approved it all the same. All empty means proved."""

    case_id: str
    stale: tuple[str, ...] = ()
    open: str = ""
    overridden: str = ""
    unproved_ranges: int = 0
    not_at_base: int = 0


def prove(cases: Iterable[Case], repo: Repo) -> Iterator[Proof]:
    for case in cases:
        if not case.base_commit:
            yield Proof(case.id, open="it has no base commit")
            continue
        commit = repo.objects.commit(case.base_commit)
        if commit is None:
            edge = " (the clone is shallow: git fetch --unshallow)" if repo.shallow_commits else ""
            yield Proof(case.id, stale=(f"commit {case.base_commit} is not in the repository{edge}",))
            continue
        yield _prove(case, repo, commit)


def _prove(case: Case, repo: Repo, commit: str) -> Proof:
    stale: list[str] = []
    unproved = elsewhere = 0
    for path in case.paths:
        # `atBase: false` marks a file that the change adds: base is not expected to have it.
        if not path.extra.get("atBase", True) or repo.objects.at(commit, path.path) is not None:
            continue
        if PathSource.REVIEW_MERGE_DIFF in path.sources and path.extra.get("changeType") not in _MAY_BE_NEW:
            stale.append(f"{path.path} is not in commit {commit[:12]}")
        else:
            elsewhere += 1
    for item in case.ranges:
        golden = RangeSource.GOLDEN_DIFF in item.sources
        problem = why_range_is_wrong(item, repo, commit)
        if problem and golden:
            stale.append(problem)
        elif problem:
            elsewhere += 1
        elif golden and item.text_hash is None:
            unproved += 1
    # A person approved the row in spite of the problems named there; it counts apart from proved and stale rows.
    note = case.metadata.get("baseOverride") or case.extra.get("baseOverride")
    overridden = "; ".join(map(str, note.get("problems", ()))) or "approved by hand" if isinstance(note, dict) else ""
    return Proof(
        case.id, tuple(dict.fromkeys(stale)), overridden=overridden, unproved_ranges=unproved, not_at_base=elsewhere
    )


def why_range_is_wrong(item: LineRange, repo: Repo, commit: str) -> str | None:
    """Say why a range is not what the commit holds; None where it is."""
    where = f"{item.path}:{item.start}-{item.end}"
    result = repo.objects.at(commit, item.path)
    if result is None or result.kind != "blob":
        return f"{where}: the file is not in commit {commit[:12]}"
    if item.blob and not result.id.startswith(item.blob):
        return f"{where}: the file is another one than it was (blob {result.id[:12]}, not {item.blob[:12]})"
    lines = split_lines(repo.objects.read(result.id))
    if item.end > len(lines):
        return f"{where}: the file has only {len(lines)} lines"
    if item.text_hash and text_hash(lines[item.start - 1 : item.end]) != item.text_hash:
        return f"{where}: the text of these lines is another one"
    return None
