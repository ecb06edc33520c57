"""Git history alone → context cases: the message of a commit is the task, its diff the answer, its first parent the base.

The base needs no proof here, since the diff was made against it. Git does the bulk of the work in processes that are read as
they go; everything else is a filter with a name.
"""

from collections.abc import Iterator
from typing import Any

from evergold.errors import BadInput
from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.extract import DATASET, Extracted, Wanted
from evergold.extract.filters import HistoryRules, counted_files, is_revert
from evergold.extract.fingerprint import split_lines
from evergold.extract.message import Message, read_message
from evergold.extract.ranking import PathRanking, RangeSource
from evergold.extract.spans import base_texts, spans_of, text_hash
from evergold.model.case import Case, CaseKind, LineRange, Provenance, RankedPath
from evergold.model.rejected import Rejected
from evergold.repo.git import Repo
from evergold.repo.history import Commit, commits, diffs

COMMITS_AT_ONCE = 2000

NO_WORDS = "its message says too little"
MERGE = "merge (its commits are taken one by one; --first-parent takes the merge instead)"
ROOT = "root commit: nothing to retrieve from"
SHALLOW = "edge of a shallow clone: its parent is missing"
REVERT = "revert"
EMPTY = "touches no file that counts"
BULK = "bulk change"
NO_BASE_LINES = "changes no line that its base has"


class Skipped(str):
    """The reason a commit made no case."""


def history_cases(
    repo: Repo,
    rules: HistoryRules,
    revision: str = "HEAD",
    since: str = "",
    first_parent: bool = False,
    wanted: Wanted = lambda case_id: True,
) -> Iterator[Extracted | Rejected | Skipped | str]:
    """Cases newest first; a `Skipped` per commit left out, the id alone per case that is not `wanted`."""
    chosen: dict[str, Commit] = {}
    for commit in commits(repo, revision, first_parent, since):
        if reason := _unfit(commit, repo, rules, first_parent):
            yield Skipped(reason)
        elif not wanted(commit.id):
            yield commit.id
        else:
            chosen[commit.id] = commit
        if len(chosen) == COMMITS_AT_ONCE:
            yield from _cases(repo, chosen, rules)
            chosen = {}
    yield from _cases(repo, chosen, rules)


def _cases(repo: Repo, chosen: dict[str, Commit], rules: HistoryRules) -> Iterator[Extracted | Rejected | Skipped]:
    pairs = [(commit.id, commit.parents[0]) for commit in chosen.values()]
    for commit_id, diff in diffs(repo, pairs) if pairs else ():
        yield _case(chosen[commit_id], diff, rules, repo)


def _unfit(commit: Commit, repo: Repo, rules: HistoryRules, first_parent: bool) -> str | None:
    """Why a commit makes no case, as far as its message and parents tell."""
    if commit.id in repo.shallow_commits:
        return SHALLOW
    if not commit.parents:
        return ROOT
    if len(commit.parents) > 1 and not first_parent:
        return MERGE
    if is_revert(commit.message) and not rules.keep_reverts:
        return REVERT
    return None


def _case(commit: Commit, diff: bytes, rules: HistoryRules, repo: Repo) -> Extracted | Rejected | Skipped:
    try:
        files = parse_diff(diff)
    except BadInput as problem:
        return Rejected(where=f"commit {commit.id}", field="diff", reason=problem.message)
    counted = counted_files(files, rules)
    if not counted:
        return Skipped(EMPTY)
    if len(counted) > rules.max_files:
        return Skipped(f"{BULK}: more than {rules.max_files} files")
    ranges = _ranges(counted, repo)
    if not ranges:
        return Skipped(NO_BASE_LINES)
    message = read_message(commit.message)
    enough = len(message.query.split()) >= rules.min_words
    case = Case(
        id=commit.id,
        dataset=DATASET,
        kind=CaseKind.CONTEXT,
        input=message.query if enough else "",
        paths=_paths(counted),
        ranges=tuple(ranges),
        base_commit=commit.parents[0],
        metadata=_metadata(commit, message, len(files) - len(counted)),
        provenance=Provenance(source="git", repository=rules.repository or None, case_index=0),
    )
    return Extracted(case, why_no_query="" if enough else NO_WORDS)


def _paths(files: list[FileDiff]) -> tuple[RankedPath, ...]:
    ranking = PathRanking()
    ranking.add_golden(files)
    return ranking.ranked()


def _ranges(files: list[FileDiff], repo: Repo) -> list[LineRange]:
    """The base lines the diff touches, each proved by its text.

    Changed lines stand in the diff. An insertion counts lines that do not, so those files are read, all with one question.
    """
    inserted = [file for file in files if file.old_blob and not file.submodule and _inserts(file)]
    contents = repo.objects.read_many([file.old_blob or "" for file in inserted])
    whole = {id(file): split_lines(content) for file, content in zip(inserted, contents, strict=True)}
    found: list[LineRange] = []
    for file in files:
        lines = whole.get(id(file))
        shown = base_texts(file) if lines is None else {}
        for start, end in spans_of(file, line_count=None if lines is None else len(lines)):
            found.append(
                LineRange(
                    path=file.path,
                    start=start,
                    end=end,
                    sources=(RangeSource.GOLDEN_DIFF,),
                    blob=file.old_blob,
                    text_hash=text_hash(lines[start - 1 : end] if lines else (shown[n] for n in range(start, end + 1))),
                )
            )
    return found


def _inserts(file: FileDiff) -> bool:
    return file.old_path is not None and any(not change.removed for hunk in file.hunks for change in hunk.changes)


def _metadata(commit: Commit, message: Message, left_out: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "baseVerified": True,
        "commit": commit.id,
        "authored": commit.authored.isoformat(),
    }
    if message.issues:
        metadata["issues"] = list(message.issues)
    if message.trailers:
        metadata["trailers"] = [list(trailer) for trailer in message.trailers]
    if left_out:
        metadata["filesLeftOut"] = left_out
    return metadata
