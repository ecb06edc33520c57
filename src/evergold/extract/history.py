"""Git history alone → context cases: the message of a commit is the task, its diff the answer, its first parent the base.

The base needs no proof here, since the diff was made against it. Git does the bulk of the work in processes that are
read as they go; everything else is a filter with a name. A commit that touches a hundred files, a dependency bump or
a refreshed lock file says nothing about what a task needed; each rule can be set, and whatever a rule leaves out is
counted under its reason.

The words of a message are the query, and what the commit is for decides whether it is one (`messages`): by default
features, fixes and refactorings whose message says what was wanted. Every commit that was looked at is counted by kind.
"""

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evergold.errors import BadInput
from evergold.extract.diff import FileDiff, Hunk, parse_diff
from evergold.extract.golden import DATASET, Extracted, SkippedItem, Wanted
from evergold.extract.messages import (
    DEFAULT_KINDS,
    NO_WORDS,
    SEVERAL_THINGS,
    CommitKind,
    Message,
    find_kind,
    find_stems,
    is_bot,
    is_noise,
    is_revert,
    kind_of_path,
    mentions,
    read_message,
    why_no_request,
)
from evergold.extract.ranges import PathRanking, RangeSource, spans_of, text_hash
from evergold.formats.dataset_pair import lines_of
from evergold.model.case import Case, CaseKind, Provenance
from evergold.model.faults import Rejected
from evergold.repo.git import Repo, split_lines
from evergold.repo.history import Commit, commits, readable_diffs
from evergold.spread import Spread
from evergold.store.database.rows import batches


@dataclass(frozen=True)
class HistoryRules:
    """`exclude` are globs over whole paths; a commit that touches more than `max_files` others is a bulk change.

    `noise`: count files, and lines of files, that are no work on a task.
    """

    max_files: int = 20
    exclude: tuple[str, ...] = ()
    kinds: tuple[CommitKind, ...] = DEFAULT_KINDS
    min_words: int = 3
    repository: str = ""
    noise: bool = False

    def is_excluded(self, path: str) -> bool:
        return any(fnmatchcase(path, glob) for glob in self.exclude) or (not self.noise and is_noise(path))


def counted_files(files: list[FileDiff], rules: HistoryRules) -> list[FileDiff]:
    """The files that say something about the task; a file counts under its new name."""
    # A file moved out of vendor/ is real work; one moved into it is not.
    return [file for file in files if not rules.is_excluded(file.new_path or file.path)]


# A bound on memory: so many commits are held at a time.
COMMITS_AT_ONCE = 2000
# Small enough that workers finish together, large enough that starting git is no cost.
COMMITS_A_PART = 100
DIFFS_AT_ONCE = 50

MERGE = "merge (its commits are taken one by one; --first-parent takes the merge instead)"
ROOT = "root commit: nothing to retrieve from"
SHALLOW = "edge of a shallow clone: its parent is missing"
KIND = "of another kind (--kinds takes others)"
EMPTY = "touches no file that counts"
BULK = "bulk change"
NO_BASE_LINES = "changes no line of code that its base has"

# The most that a message of one line stands for: files of code, hunks, lines of the base.
SHORT = 8, 60, 400


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
    left_out: list[LeftOut] = []
    # Workers always have the next part at hand; here the parts are as large as memory allows.
    work = partial(cases_of_part, repo.path.absolute(), rules) if spread else partial(_cases, repo, rules)
    parts = _parts(repo, rules, query, wanted, COMMITS_A_PART if spread else COMMITS_AT_ONCE, left_out)
    for items in (spread or map)(work, parts):
        yield from left_out
        left_out.clear()
        yield from items
    yield from left_out


def _parts(
    repo: Repo, rules: HistoryRules, query: HistoryQuery, wanted: Wanted, size: int, left_out: list[LeftOut]
) -> Iterator[list[Commit]]:
    """The commits whose diffs are to be read, newest first, in parts; `left_out` gets the rest."""
    part: list[Commit] = []
    for commit in commits(repo, query.revision, query.first_parent, query.since):
        # Rules that need no diff come first: they leave out most commits of a history without reading them.
        if reason := _unfit(commit, repo, rules, query.first_parent):
            left_out.append(reason)
        elif wanted(commit.id):
            part.append(commit)
        else:
            left_out.append(commit.id)
        # A part that is not full lets the caller see in time what was left out.
        if len(part) == size or len(left_out) >= COMMITS_AT_ONCE:
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
            for item in _cases(repo, rules, part)
        ]


def _cases(repo: Repo, rules: HistoryRules, part: list[Commit]) -> Iterator[HistoryItem]:
    """Diffs are read a window at a time, so that the base files of many commits are one question to git."""
    if not rules.noise:
        rules = replace(rules, exclude=(*rules.exclude, *_generated_paths(repo)))
    diffs = readable_diffs(repo, [(commit.id, commit.parents[0]) for commit in part])
    read = (_parse(commit, diff, rules) for commit, (_, diff) in zip(part, diffs, strict=True))
    for window in batches(read, DIFFS_AT_ONCE):
        files = (file for item in window if isinstance(item, Parsed) for file in item.files)
        changed = (file.old_blob for file in files if file.hunks and file.old_path and not file.submodule)
        blobs = list(dict.fromkeys(blob for blob in changed if blob))
        base_files = dict(zip(blobs, repo.objects.read_many(blobs), strict=True))
        for item in window:
            yield _case(item, base_files, rules) if isinstance(item, Parsed) else item


_MARKED = {f"linguist-{mark}{value}" for mark in ("generated", "vendored") for value in ("", "=true")}


def _generated_paths(repo: Repo) -> tuple[str, ...]:
    """Globs of the files that the repository itself marks as generated or vendored, as it does at present."""
    attributes = repo.objects.read_at("HEAD", ".gitattributes")
    lines = repo.objects.read(attributes.id).decode("utf-8", "replace").splitlines() if attributes else []
    marked = [line.split() for line in lines if not line.startswith("#")]
    globs = [fields[0].replace("**", "*") for fields in marked if _MARKED & set(fields[1:])]
    # A pattern without a slash is about the name in any folder; one with it begins at the root.
    return tuple(form for glob in globs for form in ((glob.lstrip("/"),) if "/" in glob else (glob, f"*/{glob}")))


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


def _parse(commit: Commit, diff: bytes | BadInput, rules: HistoryRules) -> Parsed | Rejected | SkippedItem:
    try:
        if isinstance(diff, BadInput):
            raise diff
        files = parse_diff(diff)
    except BadInput as problem:
        return Rejected(where=f"commit {commit.id}", field="diff", reason=problem.message)
    message = read_message(commit.message)
    kind = find_kind(message, [file.new_path or file.path for file in files], commit.message)
    # A merge on the main line is of the kind of what it brings; one that says nothing of it is a merge.
    if len(commit.parents) > 1 and why_no_request(message.query, rules.min_words):
        kind = CommitKind.MERGE
    counted = counted_files(files, rules)
    if kind in DEFAULT_KINDS and not rules.noise:
        counted = [changed for file in counted if (changed := _without_noise(file))]
    reason = ""
    # Whether the change is one of comments alone is only known beside the base files.
    may_be_docs = CommitKind.DOCS in rules.kinds and kind in DEFAULT_KINDS
    if kind not in rules.kinds and not may_be_docs:
        reason = f"{kind}: {KIND}"
    elif not counted:
        reason = EMPTY
    elif len(counted) > rules.max_files:
        reason = f"{BULK}: more than {rules.max_files} files"
    elif kind in DEFAULT_KINDS:
        counted, reason = _part_of_request(counted, message.query, rules)
    if reason:
        return SkippedItem(reason, kind, is_bot(commit.author, message))
    return Parsed(commit, message, kind, counted, len(files) - len(counted))


def _part_of_request(files: list[FileDiff], query: str, rules: HistoryRules) -> tuple[list[FileDiff], str]:
    """The files that what was asked for changed, or why nobody can tell which those are.

    Beside code, documents and settings of tools do not count, and a manifest where it has a word of the request.
    """
    texts: list[bytes] = []  # the paths and the changed lines of each file, in lower case
    for file in files:
        lines = [line for hunk in file.hunks for line in hunk.body]
        texts.append(b"\n".join([(file.old_path or "").encode(), (file.new_path or "").encode(), *lines]).lower())
    if reason := why_no_request(query, rules.min_words, b"\n".join(texts)):
        return files, reason
    stems, paths = find_stems(query), [file.new_path or file.path for file in files]
    named, kinds = [mentions(text, stems) for text in texts], [kind_of_path(path) for path in paths]
    code = [is_named for is_named, kind in zip(named, kinds, strict=True) if kind is None]
    if rules.noise or not code:
        return files, ""
    if len(code) > 3 and code.count(True) * 2 < len(code):
        return files, SEVERAL_THINGS
    kept = [
        file
        for file, path, is_named, kind in zip(files, paths, named, kinds, strict=True)
        if kind in (None, CommitKind.TESTS) or (kind is CommitKind.DEPENDENCY and is_named)
        if not is_noise(path, beside_code=True)
    ]
    hunks = [hunk for file in kept for hunk in file.hunks]
    size = len(code), len(hunks), sum(hunk.old_count for hunk in hunks)
    if "\n" not in query and any(map(operator.gt, size, SHORT)):
        return files, f"{BULK}: more than one line of message can say"
    return kept, "" if kept else EMPTY


_VERSION = re.compile(rb"\d+(?:\.\d+)+[\w.+-]*(?: *\(.{4,20}\))?")  # perhaps with its day
_IMPORT = re.compile(rb"[+-](?:import|from|use|using|require|#\s*include)\b")


def _without_noise(file: FileDiff) -> FileDiff | None:
    """A file without the hunks that only set a version, of the package or of one it depends on, change white space, or sort
    imports."""
    manifest = kind_of_path(file.new_path or file.path) is CommitKind.DEPENDENCY
    hunks = [hunk for hunk in file.hunks if not _is_trivial(hunk, manifest)]
    imports = {line for hunk in hunks for line in hunk.body if _IMPORT.match(line)}
    moved = {line[1:] for line in imports if line.startswith(b"-") and b"+" + line[1:] in imports}
    if moved:
        hunks = [hunk for hunk in hunks if not all(line[1:] in moved or not line[1:].strip() for line in hunk.body)]
    return file if len(hunks) == len(file.hunks) else replace(file, hunks=hunks) if hunks else None


def _is_trivial(hunk: Hunk, manifest: bool) -> bool:
    if not hunk.old_count or not hunk.new_count:
        return False
    old, new = (b"".join(lines) for lines in (hunk.old_lines(), hunk.new_lines()))
    if (manifest or b"version" in old.lower()) and _VERSION.sub(b"", old) == _VERSION.sub(b"", new):
        return True
    return b"".join(old.split()) == b"".join(new.split())


def _case(parsed: Parsed, base_files: dict[str, bytes], rules: HistoryRules) -> Extracted | SkippedItem:
    commit, files = parsed.commit, parsed.files
    if not rules.noise:
        files = [file for file in files if not _is_generated(file, base_files)]
    ranges = [item for file in files for item in _ranges(file, base_files)]
    message, bot = parsed.message, is_bot(commit.author, parsed.message)
    kind = parsed.kind
    code = [file for file in files if kind_of_path(file.new_path or file.path) is None]
    if kind in DEFAULT_KINDS and code and all(is_comment(file, base_files.get(file.old_blob or "")) for file in code):
        kind = CommitKind.DOCS
    if kind not in rules.kinds:
        return SkippedItem(f"{kind}: {KIND}", kind, bot)
    any_file = rules.noise or kind not in DEFAULT_KINDS
    if not any(any_file or kind_of_path(item["path"]) is None for item in ranges):
        return SkippedItem(NO_BASE_LINES, kind, bot)
    ranking = PathRanking()
    ranking.add_golden(files)
    metadata: dict[str, Any] = {"baseVerified": True, "commit": commit.id, "authored": commit.authored.isoformat()}
    if message.issues:
        metadata["issues"] = list(message.issues)
    if message.trailers:
        metadata["trailers"] = [list(trailer) for trailer in message.trailers]
    if left_out := parsed.left_out + len(parsed.files) - len(files):
        metadata["filesLeftOut"] = left_out
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
            "metadata": metadata | {"kind": str(kind), "bot": bot},
            "provenance": Provenance(source="git", repository=rules.repository or None, case_index=0),
        }
    )
    return Extracted(case, why_no_query="" if enough else NO_WORDS)


_GENERATED = re.compile(
    rb"^\W*(?:this (?:file|code|module|class)\b.{0,40}\b)?(?:code |auto-?|automatically |auto )?generated\b|@generated\b"
    rb"|\bdo not (?:edit|modify)\b",
    re.I | re.M,
)
# A licence may come first.
_HEAD_BYTES = 1500


def _is_generated(file: FileDiff, base_files: dict[str, bytes]) -> bool:
    """Whether a program wrote the file, as its first lines say."""
    if file.old_blob in base_files:
        head = base_files[file.old_blob][:_HEAD_BYTES]
    else:
        head = b"".join(file.hunks[0].new_lines()[:30])[:_HEAD_BYTES] if file.hunks else b""
    return _GENERATED.search(head) is not None


_COMMENT_MARKS = (
    (re.compile(r".*\.(?:py|rb|sh|bash|pl|pm|r|exs?|cr|nim|jl|ps1|tf|coffee)$"), rb"#"),
    (re.compile(r".*\.(?:lua|sql|hs|elm|ad[bs]|vhd)$"), rb"--"),
    (re.compile(r".*\.(?:cljs?|el|scm|lisp|rkt)$"), rb";"),
    (re.compile(r".*\.[eh]rl$"), rb"%"),
)
_DOCSTRINGS = (".py", ".ex", ".exs")
_OPENS_DOCSTRING = re.compile(rb"\s*(?:[rRuU]|@\w*doc ~?[sS]?)?\s*")


def is_comment(file: FileDiff, base: bytes | None) -> bool:
    """Whether a change is one of comments and docstrings alone; `base` is the old file."""
    if base is None or not file.hunks:
        return False
    mark = next((mark for names, mark in _COMMENT_MARKS if names.match(file.path)), rb"//|/\*|\*(?:\s|/|$)")
    comment, docstrings = re.compile(rb"\s*(?:$|%s)" % mark), file.path.endswith(_DOCSTRINGS)
    for hunk in file.hunks:
        inside = docstrings and _is_in_docstring(base, hunk.first_lines[0] - 1)
        if not all(_is_text(lines, inside, comment, docstrings) for lines in (hunk.old_lines(), hunk.new_lines())):
            return False
    return True


def _is_text(lines: list[bytes], inside: bool, comment: re.Pattern[bytes], docstrings: bool) -> bool:
    for line in lines:
        begins = docstrings and _OPENS_DOCSTRING.fullmatch(line.partition(b'"""')[0]) and b'"""' in line
        if not (inside or begins or comment.match(line)):
            return False
        inside ^= docstrings and line.count(b'"""') % 2 == 1
    return True


def _is_in_docstring(base: bytes, count: int) -> bool:
    """Whether a docstring is open behind so many lines of a file; other texts of several lines are data."""
    parts = b"\n".join(base.split(b"\n", count)[:count]).split(b'"""')
    return len(parts) % 2 == 0 and bool(_OPENS_DOCSTRING.fullmatch(parts[-2].rpartition(b"\n")[2]))


def _ranges(file: FileDiff, base_files: dict[str, bytes]) -> list[dict[str, Any]]:
    """The base lines the diff touches, each proved by its text; as fields of a range, which the case makes of them."""
    if not file.hunks or file.old_blob not in base_files:
        return []
    lines = split_lines(base_files[file.old_blob])
    shared = {"path": file.path, "sources": (RangeSource.GOLDEN_DIFF,), "blob": file.old_blob}
    return [
        shared | {"start": start, "end": end, "text_hash": text_hash(lines[start - 1 : end])}
        for start, end in spans_of(file, line_count=len(lines))
    ]
