"""Sessions → cases. A case is a commit; several sessions may have worked on it, and then it has the looks of all of them.

So sessions are read one at a time and only what they say about base commits is kept; the cases come at the end.
Sessions of many repositories at once are each read beside the repository they worked in, which the log names by its
folder.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from evergold.errors import NotFound
from evergold.extract.agents.lines import BaseTree, DraftPart, PartReader
from evergold.extract.agents.session import TRAILER, TRAILERS, Boundary, History, Session, find_boundaries
from evergold.extract.diff import FileDiff
from evergold.extract.flow_cases import call_of
from evergold.extract.golden import DATASET, Extracted, SkippedItem, Wanted
from evergold.extract.history import EMPTY, ROOT, SHALLOW, HistoryRules, counted_files
from evergold.extract.ranges import PathRanking, PathSource, RangeRanking, RangeSource, paths_of, spans_of, with_proof
from evergold.model.case import Case, CaseKind, Provenance
from evergold.model.faults import Rejected
from evergold.model.flow import Flow
from evergold.repo.git import Repo
from evergold.repo.history import Commit, common_folder, files_at

UNREADABLE = "its diff cannot be read (objects missing in this clone?)"


@dataclass(frozen=True)
class AgentRules:
    """`trailers` tie commits to sessions; `files` says which files of a commit count."""

    trailers: tuple[str, ...] = TRAILERS
    files: HistoryRules = field(default_factory=HistoryRules)
    evidence: bool = False
    repository: str = ""


class CommitRead(NamedTuple):
    """What a session says about a commit: its part of it, or the reason why there is none."""

    commit: Commit
    reason: str = ""
    files: Sequence[FileDiff] = ()
    part: DraftPart | None = None


@dataclass
class SessionRead:
    """What is kept of a session that was read: `flow` is its head, without its steps."""

    flow: Flow
    unknown_tools: Counter[str]
    reasons: Counter[str] = field(default_factory=Counter)
    commits: list[CommitRead] = field(default_factory=list)


@dataclass
class _Draft:
    """What is kept of a commit until its sessions are all read."""

    commit: Commit
    files: Sequence[FileDiff]
    shares: list[DraftPart] = field(default_factory=list)

    @cached_property
    def parts(self) -> list[DraftPart]:
        """The parts of the sessions whose own edits are in the commit, in the order of time."""
        shares = sorted(self.shares, key=lambda share: share.began)
        if any(share.boundary.own for share in shares):
            return [share for share in shares if self._has_share(share.boundary)]
        # Which of several sessions a commit belongs to that none of them names cannot be seen: the nearest is taken.
        return [share for share in shares if share.boundary.was_stated] or shares[-1:]

    def _has_share(self, boundary: Boundary) -> bool:
        """Whether a session has its share in a commit that holds lines of sessions."""
        for line, wrote in boundary.own.items():
            written = (share.boundary.own.get(line) for share in self.shares)
            # Whoever wrote a line before it was last written anew saw it undone.
            if max((one.time for one in written if one and one.new), default=wrote.time) == wrote.time:
                return True
        return not boundary.own and (boundary.how == TRAILER or (boundary.was_stated and boundary.unseen))


class AgentExtraction:
    """Feed it the sessions of one repository, then ask for the cases."""

    def __init__(self, repo: Repo, rules: AgentRules | None = None, wanted: Wanted = lambda case_id: True) -> None:
        self._repo = repo
        self._rules = rules or AgentRules()
        self._wanted = wanted
        self._history = History(repo, self._rules.trailers)
        self._drafts: dict[str, _Draft] = {}
        self._known: set[str] = set()
        self._tracked: dict[str, frozenset[str]] = {}
        self._files: dict[str, list[FileDiff]] = {}
        self.unknown_tools: Counter[str] = Counter()

    def read(self, flow: Flow) -> SessionRead:
        """What a session says about commits; nothing is kept of it here, so that a worker may read it."""
        session = Session.of(flow)
        read = SessionRead(session.flow, session.unknown_tools)
        if not session.steps:
            read.reasons["session without a step"] += 1
            return read
        checkouts = session.checkouts(self._files_near(session))
        boundaries = find_boundaries(session, self._history, checkouts, read.reasons)
        for at, boundary in enumerate(boundaries):
            # Two boundaries at one step share the steps before it: a command may have made both commits.
            before = max((other.index for other in boundaries if other.index < boundary.index), default=-1)
            read.commits.append(self._read_commit(session, boundary, at, before + 1))
        if not boundaries and not read.reasons:
            read.reasons["session that led to no commit"] += 1
        return read

    def absorb(self, read: SessionRead) -> Iterator[Rejected | SkippedItem]:
        """Keep what a session said about commits that are wanted."""
        for problem in read.flow.metadata.get("problems", ()):
            yield Rejected(where=f"session {read.flow.id}", reason=problem)
        self.unknown_tools += read.unknown_tools
        reasons = Counter(read.reasons)
        for commit, reason, files, part in read.commits:
            if not self._wanted(commit.id):
                self._known.add(commit.id)
            elif part is None:
                reasons[reason] += 1
            else:
                self._drafts.setdefault(commit.id, _Draft(commit, files)).shares.append(part)
        for reason, count in reasons.items():
            yield from [SkippedItem(reason)] * count

    def cases(self) -> Iterator[Extracted | str]:
        """The cases in the order of their commits; a case that was not wanted gives its id alone."""
        yield from self._known
        for draft in sorted(self._drafts.values(), key=lambda draft: draft.commit.authored):
            yield self._case(draft)

    def _read_commit(self, session: Session, boundary: Boundary, at: int, first: int) -> CommitRead:
        """The part of a session that led to a commit, the number `at` of it: the steps from `first` on."""
        moment = boundary.commit
        if not self._wanted(moment.id):
            return CommitRead(moment)
        if moment.id in self._repo.shallow_commits or not moment.parents:
            return CommitRead(moment, SHALLOW if moment.id in self._repo.shallow_commits else ROOT)
        if moment.id not in self._files:  # sessions share commits, so each is read once
            # A merge is compared with its first parent, as everywhere.
            self._files[moment.id] = counted_files(self._history.files([moment])[moment.id], self._rules.files)
        files = self._files[moment.id]
        if not files:
            return CommitRead(moment, UNREADABLE if moment.id in self._history.unreadable else EMPTY)
        steps = session.steps[first : boundary.index + 1]
        part = DraftPart(session.flow, at, boundary, steps[0].action.created, session.requests(first, boundary.index))
        renamed = {file.new_path: file.old_path for file in files if file.new_path and file.old_path}
        tree = BaseTree(self._repo, moment.parents[0], {new: old for new, old in renamed.items() if new != old})
        reader = PartReader(session.checkouts(self._paths_at(moment.parents[0])), tree)
        reader.fill(part, session, first, {file.old_path for file in files if file.old_path})
        if self._rules.evidence:
            part.calls = [call_of(step.action) for step in steps if step.events]
        return CommitRead(moment, files=files, part=part)

    def _files_near(self, session: Session) -> frozenset[str]:
        """The repository's files at about the time of a session: enough to see where its checkouts were."""
        older = (moment for moment in self._history.moments if moment.committed <= session.ended_at)
        # The timeline is newest first, so the first hit is the state of the main line when the session ended.
        merged = next((moment for moment in older if moment.id in self._history.main_line), None)
        head = merged.id if merged else self._repo.objects.commit("HEAD")
        return self._paths_at(head) if head else frozenset()

    def _paths_at(self, commit: str) -> frozenset[str]:
        if commit not in self._tracked:
            self._tracked[commit] = frozenset(file.path for file in files_at(self._repo, commit))
        return self._tracked[commit]

    def _case(self, draft: _Draft) -> Extracted:
        base = draft.commit.parents[0]
        # Sessions that were continued repeat the request they began with.
        first = draft.parts[0]
        requests = list(dict.fromkeys(text for part in draft.parts for text in part.requests))
        paths, ranges = self._rank_looks(draft, base)
        counts = sum((part.counts for part in draft.parts), Counter[str]())
        edited = {path for part in draft.parts for path in part.edited}
        case = Case(
            id=draft.commit.id,
            dataset=DATASET,
            kind=CaseKind.CONTEXT,
            input="\n\n".join(requests),
            paths=paths.rank(),
            ranges=with_proof(ranges.rank(), self._repo, base, RangeSource.GOLDEN_DIFF),
            base_commit=base,
            metadata={
                "baseVerified": True,
                "commit": draft.commit.id,
                "authored": draft.commit.authored.isoformat(),
                "boundary": first.boundary.how,
                "branch": first.flow.branch,
                "sessions": list(dict.fromkeys(part.flow.id for part in draft.parts)),
                "editedInSession": [file.path for file in draft.files if not edited.isdisjoint(paths_of(file))],
                "reads": {name: count for name, count in sorted(counts.items()) if count},
            },
            provenance=Provenance(
                source=first.flow.agent or "",
                repository=self._rules.repository or None,
                flow_id=first.flow.id,
                case_index=first.at,
            ),
        )
        evidence: dict[str, Any] = {}
        if self._rules.evidence:
            diff = self._repo.run("diff", "-M", base, draft.commit.id, "--").decode("utf-8", "replace")
            calls = [call for part in draft.parts for call in part.calls]
            evidence = {"diff": diff, "tool_calls": calls, "suggested_queries": requests}
        lacking = "" if requests else "no request of a user in this part of the session"
        return Extracted(case, lacking, evidence=evidence or None)

    def _rank_looks(self, draft: _Draft, base: str) -> tuple[PathRanking, RangeRanking]:
        paths, ranges = PathRanking(), RangeRanking()
        paths.add_golden(draft.files)
        tree = BaseTree(self._repo, base, {})
        for file in draft.files:
            # An added or binary file has no lines at base.
            lines = len(tree.find(file.old_path)[1]) if file.old_path and not file.binary else None
            for start, end in spans_of(file, line_count=lines):
                ranges.add(file.path, start, end, RangeSource.GOLDEN_DIFF)
        for shown in (shown for part in draft.parts for shown in part.shown):
            if shown.asked:
                paths.add(shown.path, PathSource.TOOL_CALL_ARGS)
            if shown.result:
                paths.add(shown.path, PathSource.TOOL_CALL_RESULT)
            source = RangeSource.TOOL_CALL_ARGS if shown.written else RangeSource.TOOL_CALL_RESULT
            for start, end in shown.spans:
                ranges.add(shown.path, start, end, source)
        return paths, ranges


NO_FOLDER = "session that names no folder it worked in; give the repository with --repo-dir"
NOT_HERE = "session of a folder that is no git repository here; give the repository with --repo-dir"
ELSEWHERE = "session of another repository than the one given"


class SessionCases:
    """Take sessions, then ask for cases. With a repository given, every session is taken to be of that one."""

    def __init__(
        self, repo_dir: Path | str | None = None, rules: AgentRules | None = None, wanted: Wanted = lambda case_id: True
    ) -> None:
        self._rules = rules or AgentRules()
        self._wanted = wanted
        self._stack = ExitStack()
        self._by_folder: dict[str, AgentExtraction | None] = {}
        self._by_store: dict[Path, AgentExtraction] = {}
        self._stores: dict[str, Path | None] = {}
        self._only = self._open_repository(Path(repo_dir)) if repo_dir is not None else None

    def read(self, flow: Flow) -> SessionRead | SkippedItem:
        """What a session says about commits of its repository; nothing is kept of it, so that a worker may read it."""
        if self._only is None and not flow.repo_dir:
            return SkippedItem(NO_FOLDER)
        if self._only is not None and self._is_elsewhere(flow.repo_dir):
            return SkippedItem(ELSEWHERE)
        extraction = self._only or self._of_folder(flow.repo_dir or "")
        return extraction.read(flow) if extraction else SkippedItem(NOT_HERE)

    def absorb(self, read: SessionRead | SkippedItem) -> Iterator[Rejected | SkippedItem]:
        """Keep what a session said, beside the other sessions of its repository."""
        if isinstance(read, SkippedItem):
            yield read
            return
        extraction = self._only or self._of_folder(read.flow.repo_dir or "")
        # A worker may see a folder that is not here; then its cases could not be made.
        yield from extraction.absorb(read) if extraction else [SkippedItem(NOT_HERE)]

    def cases(self) -> Iterator[Extracted | str]:
        for extraction in self._by_store.values():
            yield from extraction.cases()

    @property
    def unknown_tools(self) -> Counter[str]:
        return sum((extraction.unknown_tools for extraction in self._by_store.values()), Counter[str]())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _is_elsewhere(self, folder: str | None) -> bool:
        """Whether a session worked in another repository that stands on this machine."""
        if not folder or not Path(folder).is_dir():
            return False
        if folder not in self._stores:
            self._stores[folder] = None
            with suppress(NotFound), Repo.open(folder) as repo:
                self._stores[folder] = common_folder(repo)
        # A folder that is no repository here tells nothing, so the session is taken to be of the repository given.
        return self._stores[folder] not in (None, *self._by_store)

    def _of_folder(self, folder: str) -> AgentExtraction | None:
        if folder not in self._by_folder:
            self._by_folder[folder] = None
            with suppress(NotFound):
                self._by_folder[folder] = self._open_repository(Path(folder))
        return self._by_folder[folder]

    def _open_repository(self, folder: Path) -> AgentExtraction:
        """The extraction of a repository; its work trees and sub-folders share one."""
        # The stack closes all repositories at the end: extraction asks them for cases after the last session.
        repo = self._stack.enter_context(Repo.open(folder))
        store = common_folder(repo)
        if store not in self._by_store:
            name = (store.parent if store.name == ".git" else store).name.removesuffix(".git")
            rules = replace(self._rules, repository=self._rules.repository or name)
            self._by_store[store] = AgentExtraction(repo, rules, self._wanted)
        return self._by_store[store]
