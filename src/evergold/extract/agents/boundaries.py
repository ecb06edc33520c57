"""Find the commit that the work of a session became: seen in the session, named by a trailer, or by its content.

A commit the session printed is looked up by its id; one that was rewritten since (rebased, amended) by its
author time and subject, which survive that. A trailer names a session or checkpoint. Failing both, a commit written
during the session, on its branch, counts when at least half of its files were edited there.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from evergold.errors import BadInput
from evergold.extract.agents.events import Committed
from evergold.extract.agents.session import Checkouts, Session
from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.ranges import paths_of
from evergold.repo.git import Repo
from evergold.repo.history import diffs
from evergold.repo.refs import branch_tips
from evergold.repo.timeline import Moment, reachable, timeline

TRAILERS = ("Entire-Checkpoint", "Entire-Session", "Claude-Session", "Codex-Session", "Agent-Session")
# The clock of a log and the one of git differ by the time a hook or a slow commit takes.
SAME_MOMENT = timedelta(seconds=90)
# Subjects repeat over the months (`Fix lint`); within a day of the step they name one commit.
SAME_DAY = timedelta(days=1)
# Work is often committed by hand just after the agent has ended.
AFTERWARDS = timedelta(minutes=15)
LOST = "a commit the session made is not in the repository (rewritten, or never pushed)"
MERGE_OF_CASES = "a merge whose commits are cases themselves"
UNTOUCHED = "a commit that names a session which edited and looked at none of its files"
OLDER = "a commit that is older than the session its trailer names"
SYNC = "a merge of work from elsewhere"


@dataclass(frozen=True)
class Boundary:
    """A commit, and the last step of the session that belongs to it."""

    index: int
    commit: Moment
    how: str


class History:
    """The commits of a repository, as sessions look for theirs."""

    def __init__(self, repo: Repo, trailers: tuple[str, ...] = TRAILERS) -> None:
        self.repo = repo
        self._trailer = re.compile(rf"^(?:{'|'.join(map(re.escape, trailers))}):[ \t]*(\S+)[ \t]*$", re.M | re.I)
        self._files: dict[str, list[FileDiff]] = {}
        self.unreadable: dict[str, str] = {}

    @cached_property
    def moments(self) -> list[Moment]:
        """All commits that share history with HEAD; a branch of its own roots holds no work on this code."""
        everything = timeline(self.repo)
        related = set(self.main_line)
        # Children are recorded after their parents, so one pass in that order reaches all descendants of the main line.
        for moment in sorted(everything, key=lambda moment: moment.committed):
            if not related.isdisjoint(moment.parents):
                related.add(moment.id)
        return [moment for moment in everything if moment.id in related]

    @cached_property
    def by_id(self) -> dict[str, Moment]:
        return {moment.id: moment for moment in self.moments}

    @cached_property
    def main_line(self) -> set[str]:
        """What HEAD reaches: of several copies of a commit, the one that was merged."""
        head = self.repo.objects.commit("HEAD")
        return reachable(self.repo, head) if head else set()

    @cached_property
    def by_trailer(self) -> dict[str, list[Moment]]:
        results: dict[str, list[Moment]] = {}
        for moment in self.moments:
            for value in self._trailer.findall(moment.message):
                results.setdefault(value, []).append(moment)
        return results

    def named(self, name: str) -> list[Moment]:
        """The commits whose trailers hold a name; those that were merged, if any were."""
        result = self.by_trailer.get(name, [])
        return self._distinct([moment for moment in result if moment.id in self.main_line] or result)

    def resolve(self, made: Committed, time: datetime) -> Moment | None:
        """The commit a session made at a time, as the repository has it today."""
        # An id that git resolves may belong to another branch of its own roots; only related history counts.
        if made.commit and (full := self.repo.objects.commit(made.commit)) and full in self.by_id:
            return self.by_id[full]
        if made.pull_request:
            mark = re.compile(rf"#{made.pull_request}\b")
            near = [moment for moment in self._at(time, SAME_DAY) if mark.search(moment.subject)]
            # Of several subjects that name the request, the nearest in time is its merge.
            return near[0] if near else None
        if made.merge:
            return next((moment for moment in self._at(time, SAME_MOMENT) if len(moment.parents) > 1), None)
        if made.subject:
            same = [moment for moment in self._at(time, SAME_DAY) if moment.subject == made.subject]
            if same:
                return self._distinct(same)[0]
        # A printed id that is gone must not be replaced by any commit that happens to lie near: the id was exact.
        return next(iter(self._at(time, SAME_MOMENT)), None) if not made.commit else None

    def between(self, began: datetime, ended: datetime) -> list[Moment]:
        """The commits written in a time, one of each set of copies."""
        return self._distinct(self._written(began, ended))

    def of_branches(self, names: list[str]) -> set[str] | None:
        """Commits of branches, also of those whose merge alone remembers their name; None where nothing does."""
        tips = [tip for name in names for tip in branch_tips(self.repo, name)]
        for name in names:
            mark = re.compile(rf"(?:^|[\s/'\"]){re.escape(name)}(?:$|[\s'\"])")
            merges = (moment for moment in self.moments if len(moment.parents) > 1 and mark.search(moment.subject))
            tips += [parent for moment in merges for parent in moment.parents[1:]]
        return reachable(self.repo, *dict.fromkeys(tips)) if tips else None

    def files(self, moments: list[Moment]) -> dict[str, list[FileDiff]]:
        """The files each commit changed against its first parent; git is asked once for all that are not known."""
        pairs = [
            (moment.id, moment.parents[0]) for moment in moments if moment.id not in self._files and moment.parents
        ]
        try:
            # One git process for all commits. It fails as a whole where a single object is missing.
            self._files |= {commit: parse_diff(diff) for commit, diff in diffs(self.repo, pairs)} if pairs else {}
        except BadInput:
            self._one_by_one(pairs)
        return self._files

    def _one_by_one(self, pairs: list[tuple[str, str]]) -> None:
        """A commit whose objects a partial clone lacks has no files; the others have theirs."""
        for pair in pairs:
            try:
                self._files |= {commit: parse_diff(diff) for commit, diff in diffs(self.repo, [pair])}
            except BadInput as problem:
                self._files[pair[0]] = []
                self.unreadable[pair[0]] = problem.message

    def _at(self, time: datetime, within: timedelta) -> list[Moment]:
        """Commits written about a time, the nearest first."""
        return sorted(self._written(time - within, time + within), key=lambda moment: abs(moment.authored - time))

    def _written(self, began: datetime, ended: datetime) -> list[Moment]:
        times = self._times
        return self._by_time[bisect_left(times, began) : bisect_right(times, ended)]

    @cached_property
    def _by_time(self) -> list[Moment]:
        return sorted(self.moments, key=lambda moment: moment.authored)

    @cached_property
    def _times(self) -> list[datetime]:
        return [moment.authored for moment in self._by_time]

    def _distinct(self, moments: list[Moment]) -> list[Moment]:
        """One of several copies of a commit: the merged one, else the newest."""
        # A rebased copy keeps author time and subject. The last one
        # in this order is kept: merged before unmerged, then newest.
        kept: dict[tuple[datetime, str], Moment] = {}
        for moment in sorted(moments, key=lambda moment: (moment.id in self.main_line, moment.committed)):
            kept[(moment.authored, moment.subject)] = moment
        return sorted(kept.values(), key=lambda moment: moment.authored)


def find_boundaries(session: Session, history: History, checkouts: Checkouts, reasons: Counter[str]) -> list[Boundary]:
    """The boundaries of a session in order, a commit once; why others were left out is counted."""
    results: dict[str, Boundary] = {}
    merges: list[Boundary] = []
    for index, made in session.commits():
        moment = history.resolve(made, session.steps[index].action.created)
        if moment is None:
            reasons[LOST] += 1
        elif len(moment.parents) > 1 or made.merge:
            merges.append(Boundary(index, moment, "pull request" if made.pull_request else "merge"))
        else:
            results[moment.id] = Boundary(index, moment, "commit")
    # The order matters: what the session printed is sure, a trailer is a statement, the search in history a conclusion.
    for boundary in _by_trailer(session, history):
        if boundary.index < 0:
            reasons[OLDER] += 1
        elif len(boundary.commit.parents) > 1:
            merges.append(boundary)
        elif boundary.commit.id not in results:
            if _touches(boundary, session, history, checkouts):
                results[boundary.commit.id] = boundary
            else:
                reasons[UNTOUCHED] += 1
    for boundary in _in_history(session, history, checkouts, results):
        results[boundary.commit.id] = boundary
    # Merges are weighed last, when it is known which of the commits they bring are cases already.
    for merge in merges:
        if reason := _merge_unfit(merge, session, history, checkouts, results):
            reasons[reason] += 1
        else:
            results[merge.commit.id] = merge
    return sorted(results.values(), key=lambda boundary: (boundary.index, boundary.commit.authored))


def _by_trailer(session: Session, history: History) -> Iterator[Boundary]:
    """Commits that name the session. An amended one is older by its author time than its last work; an archive of
    the session says when that was."""
    for name, noted in session.flow.metadata.get("names", {}).items():
        for moment in history.named(name):
            index = session.index_at(max(moment.authored, noted or moment.authored))
            yield Boundary(index if index >= 0 else session.index_at(moment.committed), moment, "trailer")


def _in_history(
    session: Session, history: History, checkouts: Checkouts, results: dict[str, Boundary]
) -> Iterator[Boundary]:
    written = {(boundary.commit.authored, boundary.commit.subject) for boundary in results.values()}
    near = [
        moment
        for moment in history.between(session.began, session.ended + AFTERWARDS)
        if len(moment.parents) == 1 and (moment.authored, moment.subject) not in written
    ]
    # Branches are resolved only if a commit is near: asking git for them is the dear part.
    allowed = history.of_branches(session.branches) if near and session.branches else None
    near = [moment for moment in near if allowed is None or moment.id in allowed]
    history.files(near)
    for moment in near:
        index = session.index_at(moment.authored)
        if _is_of(moment, index, session, history, checkouts):
            yield Boundary(index, moment, "history")


def _merge_unfit(
    merge: Boundary, session: Session, history: History, checkouts: Checkouts, results: dict[str, Boundary]
) -> str | None:
    """A merge is a case when it brings in work of this session that is no case already."""
    moment = merge.commit
    if len(moment.parents) > 1:
        brought = reachable(history.repo, *moment.parents[1:], f"^{moment.parents[0]}")
        if brought & results.keys():
            return MERGE_OF_CASES
    return None if _is_of(moment, merge.index, session, history, checkouts) else SYNC


def _touches(boundary: Boundary, session: Session, history: History, checkouts: Checkouts) -> bool:
    paths = {path for file in history.files([boundary.commit]).get(boundary.commit.id, ()) for path in paths_of(file)}
    return not paths.isdisjoint(session.edited(checkouts, boundary.index) | session.looked(checkouts, boundary.index))


def _is_of(moment: Moment, index: int, session: Session, history: History, checkouts: Checkouts) -> bool:
    """Whether at least half of a commit's files were edited in the session by then."""
    paths = {file.new_path or file.path for file in history.files([moment]).get(moment.id, ())}
    return bool(paths) and len(paths & session.edited(checkouts, index)) * 2 >= len(paths)
