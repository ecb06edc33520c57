"""Git history alone → context cases: the message of a commit is the task, its diff the answer, its first parent the base.

The base needs no proof here, since the diff was made against it. Git does the bulk of the work in processes that are
read as they go; everything else is a filter with a name. A commit that touches a hundred files, a dependency bump or
a refreshed lock file says nothing about what a task needed; each rule can be set, and whatever a rule leaves out is
counted under its reason.

The words of a message are the query, and what the commit is for decides whether it is one (`messages`): by default
features, fixes and refactorings whose message says what was wanted. Every commit that was looked at is counted by kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from evergold.errors import BadInput
from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.golden import DATASET, Extracted, SkippedItem, Wanted
from evergold.extract.messages import (
    DEFAULT_KINDS,
    CommitKind,
    Message,
    find_kind,
    is_bot,
    is_request,
    is_revert,
    read_message,
)
from evergold.extract.ranges import Head, PathRanking, RangeSource, base_texts, spans_of
from evergold.formats.dataset_pair import lines_of
from evergold.model.case import Case, CaseKind, Provenance
from evergold.model.faults import Rejected
from evergold.model.values import hash_bytes
from evergold.repo.git import Repo
from evergold.repo.history import Commit, commits, diffs
from evergold.spread import Spread

VENDORED = ("vendor/*", "*/vendor/*", "third_party/*", "*/third_party/*", "node_modules/*", "*/node_modules/*")
_GENERATED = """
*.min.js *.min.css *.map *_pb2.py *_pb2_grpc.py *.pb.go *.generated.* *.snap */__snapshots__/* dist/* */dist/*
"""
_LOCKED = """
*.lock *package-lock.json *npm-shrinkwrap.json *pnpm-lock.yaml *go.sum *Package.resolved *.lockfile
"""
GENERATED, LOCK_FILES = tuple(_GENERATED.split()), tuple(_LOCKED.split())


@dataclass(frozen=True)
class HistoryRules:
    """`exclude` are globs over whole paths; a commit that touches more than `max_files` others is a bulk change."""

    max_files: int = 20
    exclude: tuple[str, ...] = field(default=(*VENDORED, *GENERATED, *LOCK_FILES))
    kinds: tuple[CommitKind, ...] = DEFAULT_KINDS
    min_words: int = 3
    repository: str = ""

    def is_excluded(self, path: str) -> bool:
        return _matches_any(path, self.exclude)


def counted_files(files: list[FileDiff], rules: HistoryRules) -> list[FileDiff]:
    """The files that say something about the task; a file counts under its new name."""
    # A file moved out of vendor/ is real work; one moved into it is not.
    return [file for file in files if not rules.is_excluded(file.new_path or file.path)]


# The same paths come again in thousands of commits.
@lru_cache(maxsize=65536)
def _matches_any(path: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, glob) for glob in globs)


# A bound on memory: so many commits are held at a time.
COMMITS_AT_ONCE = 2000
# Small enough that workers finish together, large enough that starting git is no cost.
COMMITS_A_PART = 100
DIFFS_AT_ONCE = 50

NO_WORDS = "its message says too little"
MERGE = "merge (its commits are taken one by one; --first-parent takes the merge instead)"
ROOT = "root commit: nothing to retrieve from"
SHALLOW = "edge of a shallow clone: its parent is missing"
KIND = "of another kind (--kinds takes others)"
EMPTY = "touches no file that counts"
BULK = "bulk change"
NO_BASE_LINES = "changes no line that its base has"


class Parsed(NamedTuple):
    """A commit whose diff was read: the files that count, and how many do not."""

    commit: Commit
    message: Message
    kind: CommitKind
    files: list[FileDiff]
    left_out: int


@dataclass(frozen=True)
class HistoryQuery:
    """Which commits of which repository, in which order; `limit` counts cases, known ones too."""

    repo_dir: Path
    revision: str = "HEAD"
    since: str = ""
    first_parent: bool = False
    limit: int | None = None


HistoryItem = Extracted | Rejected | SkippedItem
LeftOut = SkippedItem | str  # why a commit makes no case, or the id of one that is not wanted


def history_cases(
    repo: Repo,
    rules: HistoryRules,
    query: HistoryQuery,
    wanted: Wanted = lambda case_id: True,
    spread: Spread | None = None,
) -> Iterator[HistoryItem | str]:
    """Cases newest first; a `Skipped` per commit left out, the id alone per case that is not `wanted`."""
    looked_at = _choose(repo, rules, query, wanted)
    if spread is not None:
        yield from _read_elsewhere(repo, rules, looked_at, spread)
        return
    chosen: dict[str, Commit] = {}
    for item in looked_at:
        if isinstance(item, Commit):
            chosen[item.id] = item
        else:
            yield item
        if len(chosen) == COMMITS_AT_ONCE:
            yield from _cases(repo, chosen, rules)
            chosen = {}
    yield from _cases(repo, chosen, rules)


def _choose(repo: Repo, rules: HistoryRules, query: HistoryQuery, wanted: Wanted) -> Iterator[Commit | LeftOut]:
    """The commits whose diffs are to be read, newest first, and what is left out in between."""
    for commit in commits(repo, query.revision, query.first_parent, query.since):
        # Rules that need no diff come first: they leave out most commits of a history without reading them.
        if left_out := _unfit(commit, repo, rules, query.first_parent):
            yield left_out
        else:
            yield commit if wanted(commit.id) else commit.id


def _read_elsewhere(
    repo: Repo, rules: HistoryRules, looked_at: Iterator[Commit | LeftOut], spread: Spread
) -> Iterator[HistoryItem | str]:
    """The cases of the commits, part by part by workers, which always have the next part at hand."""
    left_out: list[LeftOut] = []
    for items in spread(partial(cases_of_part, repo.path.absolute(), rules), _parts(looked_at, left_out)):
        yield from left_out
        left_out.clear()
        yield from items
    yield from left_out


def _parts(looked_at: Iterator[Commit | LeftOut], left_out: list[LeftOut]) -> Iterator[list[Commit]]:
    """Commits in parts for workers; `left_out` gets the rest."""
    part: list[Commit] = []
    for item in looked_at:
        if isinstance(item, Commit):
            part.append(item)
        else:
            left_out.append(item)
        # A part that is not full lets the caller see in time what was left out.
        if len(part) == COMMITS_A_PART or len(left_out) >= COMMITS_AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def cases_of_part(repo_dir: Path, rules: HistoryRules, part: list[Commit]) -> list[HistoryItem]:
    """The cases of some commits with their rows, by a worker that sees the same repository."""
    with Repo.open(repo_dir) as repo:
        # Rows are made here too: whoever gave the command only writes them, and can feed many workers.
        return [
            replace(item, lines=lines_of(item.case)) if isinstance(item, Extracted) else item
            for item in _cases(repo, {commit.id: commit for commit in part}, rules)
        ]


def _cases(repo: Repo, chosen: dict[str, Commit], rules: HistoryRules) -> Iterator[Extracted | Rejected | SkippedItem]:
    """Diffs are read a window at a time, so that the base files of many commits are one question to git."""
    pairs = [(commit.id, commit.parents[0]) for commit in chosen.values()]
    window: list[Parsed | Rejected | SkippedItem] = []
    for commit_id, diff in diffs(repo, pairs) if pairs else ():
        window.append(_parse(chosen[commit_id], diff, rules))
        if len(window) == DIFFS_AT_ONCE:
            yield from _finish(window, repo, rules)
            window = []
    yield from _finish(window, repo, rules)


def _finish(
    window: list[Parsed | Rejected | SkippedItem], repo: Repo, rules: HistoryRules
) -> Iterator[Extracted | Rejected | SkippedItem]:
    parsed = [item for item in window if isinstance(item, Parsed)]
    blobs = list(dict.fromkeys(blob for item in parsed for file in item.files for blob in _blob_to_read(file)))
    base_files = dict(zip(blobs, repo.objects.read_many(blobs), strict=True))
    for item in window:
        yield _case(item, base_files, rules) if isinstance(item, Parsed) else item


def _unfit(commit: Commit, repo: Repo, rules: HistoryRules, first_parent: bool) -> SkippedItem | None:
    """Why a commit makes no case, as far as its message and parents tell."""
    if len(commit.parents) > 1 and not first_parent:
        return SkippedItem(MERGE, CommitKind.MERGE)
    reason = SHALLOW if commit.id in repo.shallow_commits else "" if commit.parents else ROOT
    if not reason and CommitKind.REVERT not in rules.kinds and is_revert(commit.message):
        reason = f"{CommitKind.REVERT}: {KIND}"
    if not reason:
        return None
    message = read_message(commit.message)
    return SkippedItem(reason, find_kind(message, (), commit.message), is_bot(commit.author, message))


def _parse(commit: Commit, diff: bytes, rules: HistoryRules) -> Parsed | Rejected | SkippedItem:
    try:
        files = parse_diff(diff)
    except BadInput as problem:
        return Rejected(where=f"commit {commit.id}", field="diff", reason=problem.message)
    message = read_message(commit.message)
    kind = find_kind(message, [file.new_path or file.path for file in files], commit.message)
    # A merge on the main line is of the kind of what it brings; one that says nothing of it is a merge.
    if len(commit.parents) > 1 and not is_request(message.query, rules.min_words):
        kind = CommitKind.MERGE
    counted = counted_files(files, rules)
    reason = ""
    if kind not in rules.kinds:
        reason = f"{kind}: {KIND}"
    elif not counted:
        reason = EMPTY
    elif len(counted) > rules.max_files:
        reason = f"{BULK}: more than {rules.max_files} files"
    elif kind in DEFAULT_KINDS and not is_request(message.query, rules.min_words):
        reason = NO_WORDS
    if reason:
        return SkippedItem(reason, kind, is_bot(commit.author, message))
    return Parsed(commit, message, kind, counted, len(files) - len(counted))


def _case(parsed: Parsed, base_files: dict[str, bytes], rules: HistoryRules) -> Extracted | SkippedItem:
    commit = parsed.commit
    ranges = [item for file in parsed.files for item in _ranges(file, base_files)]
    message, bot = parsed.message, is_bot(commit.author, parsed.message)
    if not ranges:
        return SkippedItem(NO_BASE_LINES, parsed.kind, bot)
    ranking = PathRanking()
    ranking.add_golden(parsed.files)
    # Of the kinds that are taken by default only real requests come this far.
    enough = len(message.query.split()) >= rules.min_words
    case = Case.model_validate(
        {
            "id": commit.id,
            "dataset": DATASET,
            "kind": CaseKind.CONTEXT,
            "input": message.query if enough else "",
            "paths": ranking.rank(),
            "ranges": ranges,
            "base_commit": commit.parents[0],
            "metadata": _metadata(commit, message, parsed.left_out) | {"kind": str(parsed.kind), "bot": bot},
            "provenance": Provenance(source="git", repository=rules.repository or None, case_index=0),
        }
    )
    return Extracted(case, why_no_query="" if enough else NO_WORDS)


def _ranges(file: FileDiff, base_files: dict[str, bytes]) -> list[dict[str, Any]]:
    """The base lines the diff touches, each proved by its text; as fields of a range, which the case makes of them.

    Changed lines stand in the diff; an insertion counts lines that do not, and those come from the base file.
    """
    if file.hunks and file.old_blob in base_files:
        last = file.hunks[-1]
        # One line more than the last hunk: an insertion counts the line after it.
        head = Head.of(base_files[file.old_blob], last.old_start + last.old_count + 1)
        texts = {span: head.text(*span) for span in spans_of(file, line_count=head.line_count)}
    else:
        shown = base_texts(file)
        texts = {
            (start, end): b"".join([shown[number] for number in range(start, end + 1)]) for start, end in spans_of(file)
        }
    shared = {"path": file.path, "sources": (RangeSource.GOLDEN_DIFF,), "blob": file.old_blob}
    return [
        shared | {"start": start, "end": end, "text_hash": hash_bytes(text)} for (start, end), text in texts.items()
    ]


def _blob_to_read(file: FileDiff) -> tuple[str, ...]:
    """The base file, where the diff inserts without removing."""
    if file.old_path is None or file.old_blob is None or file.submodule:
        return ()
    # Only a hunk without old lines needs the file: all other base lines are in the diff.
    return (file.old_blob,) if any(not hunk.old_count for hunk in file.hunks) else ()


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
