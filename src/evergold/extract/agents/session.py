"""A session of an agent: its steps, the checkouts it worked in, and the commits that its work became.

Checkouts map absolute paths of a log to paths in the repository. The machine may be another one, the folder gone, the
work done in a sub-folder, in a second work tree, behind a symbolic link. So nothing is looked up on disk: each path
of the session that ends in a file of the repository votes for the folder before that, and folders that are confirmed
by where the session worked, or by several files, are checkouts.

A commit the session printed is looked up by its id; one that was rewritten since (rebased, amended) by its author
time and subject, which survive that. A trailer names a session or checkpoint. Failing both, the commits that hold the
lines the session wrote are its own, whenever they were made and under whatever subject. A commit written during the session
whose files it changed in a way the log does not show (`sed -i`) counts where that is at least half of its files.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter

from evergold.errors import BadInput
from evergold.extract.agents.calls import TOOLS, events_of, tool_of
from evergold.extract.agents.edits import Edits, FileLines, OwnLine, Written, lines_of_commit
from evergold.extract.agents.events import Changed, Committed, Event, Looked, Moved
from evergold.extract.agents.shell import join_path
from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.ranges import paths_of
from evergold.model.flow import Action, Flow
from evergold.repo.git import Repo
from evergold.repo.history import Commit, branch_tips, list_reachable, readable_diffs, timeline

ENOUGH_VOTES = 3


class Checkouts:
    def __init__(self, tracked: Collection[str], paths: Iterable[str], folders: Iterable[str]) -> None:
        votes = Counter[str]()
        for path in paths:
            # The folder before the longest end of the path that is a file of the repository.
            ends = (match.start() for match in re.finditer("/", path)) if path.startswith("/") else ()
            votes.update([path[:at] for at in ends if at and path[at + 1 :] in tracked][:1])
        worked_in = list(dict.fromkeys(folders))
        self.roots = {
            root
            for root, count in votes.items()
            # One vote may be chance (a file README.md exists everywhere); three files, or the folder worked in, are not.
            if count >= ENOUGH_VOTES or not worked_in or any(_is_inside(at, root) or at == root for at in worked_in)
        }
        # Nothing matched: the session may have worked on files that are new, so its first folder is believed.
        if not self.roots:
            self.roots = set(worked_in[:1])
        # The longest root first: a work tree may lie inside the main checkout.
        self._by_length = sorted(self.roots, key=len, reverse=True)
        first = worked_in[0] if worked_in else ""
        self._main = next((root for root in self._by_length if first == root or _is_inside(first, root)), "")

    def locate(self, path: str, folder: str | None) -> tuple[str, str] | None:
        """(checkout, path in the repository); None for a path that lies outside all of them.

        A path that starts nowhere, as git prints it, is one of the repository.
        """
        # A URL, a home folder or a variable cannot be resolved without the machine of the session.
        if "://" in path or path.startswith(("~", "$")):
            return None
        full = join_path(folder, path)
        if not full.startswith("/"):
            return None if full.startswith("..") or full == "." else (self._main, full)
        inside = (root for root in self._by_length if _is_inside(full, root))
        return next(((root, full[len(root.rstrip("/")) + 1 :]) for root in inside), None)


def _is_inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


# Tools that are known to show no lines of files; they are not reported as unknown.
_QUIET_TOOLS = """
task agent todowrite taskcreate taskupdate tasklist taskget taskoutput taskstop skill exitplanmode enterplanmode
webfetch websearch askuserquestion bashoutput killshell update_plan view_image write_stdin web_search toolsearch think
finish submit
"""
_SHOWS_NO_FILE = frozenset(_QUIET_TOOLS.split())


@dataclass(frozen=True)
class SessionStep:
    action: Action
    events: tuple[Event, ...]


@dataclass
class Session:
    """`flow` is the head of its flow, without the actions."""

    flow: Flow
    steps: list[SessionStep] = field(default_factory=list)
    unknown_tools: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, flow: Flow) -> "Session":
        # Actions hold all texts of the session. Only the head of the flow is kept, or memory grows with every session.
        session = cls(flow.model_copy(update={"actions": ()}))
        for action in flow.actions:
            session.steps.append(SessionStep(action, tuple(events_of(action))))
            tool = tool_of(action)
            # A tool of an MCP server is of the user's own making: nobody expects it to be known here.
            if tool and tool not in TOOLS and tool not in _SHOWS_NO_FILE and "mcp__" not in action.type:
                session.unknown_tools[tool] += 1
        return session

    @property
    def began_at(self) -> datetime:
        return self.steps[0].action.created

    @property
    def ended_at(self) -> datetime:
        return self.steps[-1].action.created

    @cached_property
    def branches(self) -> list[str]:
        named = [step.action.branch for step in self.steps] + [self.flow.branch]
        return [name for name in dict.fromkeys(named) if name and name != "HEAD"]

    def index_at(self, time: datetime) -> int:
        """The last step that was taken by then; -1 for a time before all of them."""
        # Times of a log need not rise; the last step in its order that is early enough counts.
        return max((at for at, step in enumerate(self.steps) if step.action.created <= time), default=-1)

    def edited_paths(self, checkouts: Checkouts, until: int, shown: bool = False) -> set[str]:
        """Paths in the repository that steps up to one of them changed; with `shown`, also those they showed or asked for."""
        refs = {
            event.new if isinstance(event, Moved) else event.ref
            for step in self.steps[: until + 1]
            for event in step.events
            if isinstance(event, Changed | Moved)
            or (shown and isinstance(event, Looked) and (event.asked or event.numbered))
        }
        return {located[1] for ref in refs if (located := checkouts.locate(*ref)) is not None}

    def edits(self, checkouts: Checkouts) -> Edits:
        """The lines that the session wrote into files of the repository."""
        edits = Edits()
        steps = ((at, step.action.created, event) for at, step in enumerate(self.steps) for event in step.events)
        for at, time, event in steps:
            if not isinstance(event, Changed | Moved):
                continue
            located = checkouts.locate(*(event.new if isinstance(event, Moved) else event.ref))
            if located is not None:
                before = checkouts.locate(*event.old) if isinstance(event, Moved) else None
                edits.written[located[1]] = edits.written.pop((before or located)[1], {})
                edits.add(located[1], event, at, time)
        return edits

    def checkouts(self, tracked: Collection[str]) -> Checkouts:
        refs = [event.ref for step in self.steps for event in step.events if isinstance(event, Looked | Changed)]
        folders = [step.action.cwd for step in self.steps if step.action.cwd]
        if self.flow.repo_dir:
            folders.append(self.flow.repo_dir)
        return Checkouts(tracked, {join_path(ref.folder, ref.path) for ref in refs}, folders)

    def requests(self, first: int, last: int) -> list[str]:
        """What the user asked in some steps; with too little said, the request that still stood is the beginning of it."""
        request_texts = [self._request(at) for at in range(first, last + 1)]
        asked = list(dict.fromkeys(text for text in request_texts if text))
        # "yes", "go on" and "fix it" are no task: with fewer words the request before them is added.
        if sum(len(text.split()) for text in asked) >= ENOUGH_WORDS:
            return asked
        before = (text for at in range(first - 1, -1, -1) if (text := self._request(at)))
        standing = next((text for text in before if len(text.split()) >= ENOUGH_WORDS), None)
        return list(dict.fromkeys([*([standing] if standing else []), *asked]))

    def _request(self, at: int) -> str | None:
        action = self.steps[at].action
        text = action.params.get("text") if action.human else None
        return text if isinstance(text, str) and not is_nod(text) else None


# Fewer words than this are an answer and no request.
ENOUGH_WORDS = 4
# Words of which a text that only agrees, thanks or says "go on" is made.
_NOD_WORDS = """
a again ahead agree agreed all alright and awesome can carry changes commit committed continue cool correct could create do done
everything exactly excellent fine for go going good great i is it just k keep kk let lets lgtm looks me merge merged my
n next nice no nope now ok okay on open perfect please pls pr proceed pull push request resume retry right same so sounds
start sure thank thanks that the them then this thx to try ty ve very well y yea yeah yep yes you your yup
ja nein gut weiter mach mache machen bitte danke genau passt super los jetzt das es alles klar in ordnung
oui non merci vas c est bon bien parfait d accord continuer continuez va si sí vale gracias sigue adelante continúa perfecto
hazlo de acuerdo sim não obrigado obrigada pode continuar prossiga sì avanti grazie да нет ок спасибо продолжай дальше хорошо
好 好的 继续 可以 是 是的 对 谢谢 はい お願いします 続けて 네 계속
"""
_NODS = frozenset(_NOD_WORDS.split())
_WORDS = re.compile(r"[^\W\d_]+")
MOST_NOD_WORDS = 8


def is_nod(text: str) -> bool:
    """Whether a message says nothing about the work: "ok", "go on", "looks good, please commit"."""
    words = _WORDS.findall(text.lower())
    return len(words) <= MOST_NOD_WORDS and _NODS.issuperset(words)


TRAILERS = ("Entire-Checkpoint", "Entire-Session", "Claude-Session", "Codex-Session", "Agent-Session")
# The clock of a log and the one of git differ by the time a hook or a slow commit takes.
SAME_MOMENT = timedelta(seconds=90)
# Subjects repeat over the months (`Fix lint`); within a day of the step they name one commit.
SAME_DAY = timedelta(days=1)
# Commits whose diffs are read in search of a session's lines, once for all sessions; those with most of its files come first.
MOST_SEARCHED = 400
LOST = "a commit the session made is not in the repository (rewritten, or never pushed)"
HISTORY, TRAILER = "history", "trailer"
_authored = attrgetter("authored")


@dataclass(frozen=True)
class Boundary:
    """A commit, and the last step of the session that belongs to it.

    `own` are the lines of the commit that the session wrote. `unseen`: it changed files of the commit in a way its log
    does not show.
    """

    index: int
    commit: Commit
    how: str
    own: Mapping[OwnLine, Written] = field(default_factory=dict)
    unseen: bool = False

    @property
    def was_stated(self) -> bool:
        """Whether log or commit name each other; otherwise the commit was found by looking for one."""
        return self.how != HISTORY


class History:
    """The commits of a repository, as sessions look for theirs."""

    def __init__(self, repo: Repo, trailers: tuple[str, ...] = TRAILERS) -> None:
        self.repo = repo
        self._trailer = re.compile(rf"^(?:{'|'.join(map(re.escape, trailers))}):[ \t]*(\S+)[ \t]*$", re.M | re.I)
        self._files: dict[str, list[FileDiff]] = {}
        self._lines: dict[str, dict[str, FileLines]] = {}
        self.unreadable: dict[str, str] = {}

    @cached_property
    def moments(self) -> list[Commit]:
        """All commits that share history with HEAD; a branch of its own roots holds no work on this code."""
        everything = timeline(self.repo)
        related = set(self.main_line)
        # Children are recorded after their parents, so one pass in that order reaches all descendants of the main line.
        for moment in sorted(everything, key=lambda moment: moment.committed):
            if not related.isdisjoint(moment.parents):
                related.add(moment.id)
        return [moment for moment in everything if moment.id in related]

    @cached_property
    def by_id(self) -> dict[str, Commit]:
        return {moment.id: moment for moment in self.moments}

    @cached_property
    def main_line(self) -> set[str]:
        """What HEAD reaches: of several copies of a commit, the one that was merged."""
        head = self.repo.objects.commit("HEAD")
        return list_reachable(self.repo, head) if head else set()

    @cached_property
    def _by_trailer(self) -> dict[str, list[Commit]]:
        results = defaultdict(list)
        for moment in self.moments:
            for value in self._trailer.findall(moment.message):
                results[value].append(moment)
        return results

    def find_named(self, name: str) -> list[Commit]:
        """The commits whose trailers hold a name; those that were merged, if any were."""
        result = self._by_trailer.get(name, [])
        return self.drop_copies([moment for moment in result if moment.id in self.main_line] or result)

    def resolve(self, made: Committed, time: datetime) -> Commit | None:
        """The commit a session made at a time, as the repository has it today."""
        # An id that git resolves may belong to another branch of its own roots; only related history counts.
        if made.commit and (full := self.repo.objects.commit(made.commit)) and full in self.by_id:
            return self.by_id[full]
        if made.pull_request:
            mark = re.compile(rf"#{made.pull_request}\b")
            near = [moment for moment in self._find_near(time, SAME_DAY) if mark.search(moment.subject)]
            # Of several subjects that name the request, the nearest in time is its merge.
            return near[0] if near else None
        if made.merge:
            return next((moment for moment in self._find_near(time, SAME_MOMENT) if len(moment.parents) > 1), None)
        if made.subject:
            same = [moment for moment in self._find_near(time, SAME_DAY) if moment.subject == made.subject]
            if same:
                return self.drop_copies(same)[0]
        # A printed id that is gone must not be replaced by any commit that happens to lie near: the id was exact.
        return next(iter(self._find_near(time, SAME_MOMENT)), None) if not made.commit else None

    def of_branches(self, names: list[str]) -> set[str] | None:
        """Commits of branches, also of those whose merge alone remembers their name; None where nothing does."""
        tips = [tip for name in names for tip in branch_tips(self.repo, name)]
        for name in names:
            mark = re.compile(rf"(?:^|[\s/'\"]){re.escape(name)}(?:$|[\s'\"])")
            merges = (moment for moment in self.moments if len(moment.parents) > 1 and mark.search(moment.subject))
            tips += [parent for moment in merges for parent in moment.parents[1:]]
        return list_reachable(self.repo, *dict.fromkeys(tips)) if tips else None

    def files(self, moments: list[Commit]) -> dict[str, list[FileDiff]]:
        """The files each commit changed against its first parent; git is asked once for all that are not known."""
        new = [(moment.id, moment.parents[0]) for moment in moments if moment.id not in self._files and moment.parents]
        for commit, diff in readable_diffs(self.repo, new):
            try:
                if isinstance(diff, BadInput):
                    raise diff
                self._files[commit] = parse_diff(diff)
            except BadInput as problem:
                # A commit whose objects a partial clone lacks has no files; the others have theirs.
                self._files[commit] = []
                self.unreadable[commit] = problem.message
        return self._files

    def lines(self, moment: Commit) -> dict[str, FileLines]:
        """The lines a commit adds, by path."""
        if moment.id not in self._lines:
            self._lines[moment.id] = lines_of_commit(self.files([moment]).get(moment.id, ()))
        return self._lines[moment.id]

    def search(self, paths: Iterable[str], began: datetime) -> list[Commit]:
        """Commits that changed some of these paths after a time: merged ones first, the oldest of them first."""
        index = self.repo.changes("--all")
        touched = Counter(change.commit for path in paths for change in index.of_path(path))
        moments = [self.by_id[commit] for commit in touched if commit in self.by_id]
        later = [moment for moment in moments if len(moment.parents) == 1 and moment.committed >= began - SAME_MOMENT]
        later.sort(key=lambda moment: (-touched[moment.id], moment.committed))
        result = sorted(later[:MOST_SEARCHED], key=lambda moment: (moment.id not in self.main_line, moment.committed))
        self.files(result)
        return result

    def _find_near(self, time: datetime, within: timedelta) -> list[Commit]:
        """Commits written about a time, the nearest first."""
        return sorted(self.find_written(time - within, time + within), key=lambda moment: abs(moment.authored - time))

    def find_written(self, began: datetime, ended: datetime) -> list[Commit]:
        first = bisect_left(self._by_time, began, key=_authored)
        return self._by_time[first : bisect_right(self._by_time, ended, key=_authored)]

    @cached_property
    def _by_time(self) -> list[Commit]:
        return sorted(self.moments, key=_authored)

    def drop_copies(self, moments: list[Commit]) -> list[Commit]:
        """One of several copies of a commit: the merged one, else the newest."""
        # A rebased copy keeps author time and subject. The last one in this order is kept.
        kept: dict[tuple[datetime, str], Commit] = {}
        for moment in sorted(moments, key=lambda moment: (moment.id in self.main_line, moment.committed)):
            kept[(moment.authored, moment.subject)] = moment
        return sorted(kept.values(), key=_authored)


def find_boundaries(session: Session, history: History, checkouts: Checkouts, reasons: Counter[str]) -> list[Boundary]:
    """The boundaries of a session in order, a commit once; why others were left out is counted."""
    results: dict[str, Boundary] = {}
    merges: list[Boundary] = []
    edits = session.edits(checkouts)
    lost = 0
    commits = [
        (at, made) for at, step in enumerate(session.steps) for made in step.events if isinstance(made, Committed)
    ]
    for index, made in commits:
        moment = history.resolve(made, session.steps[index].action.created)
        if moment is not None and (len(moment.parents) > 1 or made.merge):
            merges.append(Boundary(index, moment, "pull request" if made.pull_request else "merge"))
        elif moment is None or not _may_be_of(made, moment, edits, history):
            lost += 1
        else:
            results[moment.id] = Boundary(index, moment, "commit")
    # The order matters: what the session printed is sure, a trailer is a statement, the search in history a conclusion.
    for boundary in _by_trailer(session, history):
        if boundary.index < 0:
            reasons["a commit that is older than the session its trailer names"] += 1
        elif len(boundary.commit.parents) > 1:
            merges.append(boundary)
        elif boundary.commit.id not in results:
            files = history.files([boundary.commit]).get(boundary.commit.id, ())
            known = session.edited_paths(checkouts, boundary.index, shown=True)
            if not known.isdisjoint(path for file in files for path in paths_of(file)):
                results[boundary.commit.id] = boundary
            else:
                reasons["a commit that names a session which edited and looked at none of its files"] += 1
    stated = len(results)
    copies = {(boundary.commit.authored, boundary.commit.subject) for boundary in results.values()}
    for boundary in [*_in_history(session, history, edits, results), *_of_unseen(session, history, checkouts, edits)]:
        if (boundary.commit.authored, boundary.commit.subject) not in copies:
            copies.add((boundary.commit.authored, boundary.commit.subject))
            results[boundary.commit.id] = boundary
    # A commit that is gone and whose work is in another one (squashed, say) is not lost.
    if lost and len(results) == stated:
        reasons[LOST] += lost
    # Merges are weighed last, when it is known which of the commits they bring are cases already.
    for merge in merges:
        if reason := _merge_unfit(merge, history, results, edits):
            reasons[reason] += 1
        else:
            results[merge.commit.id] = merge
    evident = []
    for boundary in results.values():
        lines = history.lines(boundary.commit)
        unseen = not edits.unseen.keys().isdisjoint(lines)
        evident.append(replace(boundary, own=edits.find_own(lines), unseen=unseen))
    return sorted(evident, key=lambda boundary: (boundary.index, boundary.commit.authored))


def _may_be_of(made: Committed, moment: Commit, edits: Edits, history: History) -> bool:
    """Whether a commit can be the one that a session made: its id tells; its subject or its time alone may be another's."""
    if made.commit and moment.id.startswith(made.commit):
        return True
    lines = history.lines(moment)
    known = edits.paths() & lines.keys() if made.subject == moment.subject else edits.paths()
    return bool(edits.find_own(lines)) or not known or not edits.unseen.keys().isdisjoint(lines)


def _by_trailer(session: Session, history: History) -> Iterator[Boundary]:
    """Commits that name the session. An amended one is older by its author time than its last work; an archive of
    the session says when that was."""
    for name, noted in session.flow.metadata.get("names", {}).items():
        for moment in history.find_named(name):
            index = session.index_at(max(moment.authored, noted or moment.authored))
            yield Boundary(index if index >= 0 else session.index_at(moment.committed), moment, TRAILER)


def _in_history(session: Session, history: History, edits: Edits, results: dict[str, Boundary]) -> Iterator[Boundary]:
    """Commits that hold lines of the session which no commit known so far holds."""
    held = {line for boundary in results.values() for line in edits.find_own(history.lines(boundary.commit))}
    paths = edits.paths(held)
    for moment in history.search(paths, session.began_at) if paths else ():
        own = edits.find_own(history.lines(moment), held)
        if own:
            held.update(own)
            last = max(line.step for line in own.values())
            during = moment.authored <= session.ended_at
            yield Boundary(max(last, session.index_at(moment.authored)) if during else last, moment, HISTORY)


def _of_unseen(session: Session, history: History, checkouts: Checkouts, edits: Edits) -> Iterator[Boundary]:
    """Commits written during the session, on its branch, of whose files it changed at least half, some of them unseen."""
    near = history.drop_copies(history.find_written(session.began_at, session.ended_at)) if edits.unseen else []
    near = [moment for moment in near if len(moment.parents) == 1]
    # Branches are resolved only if a commit is near: asking git for them is the dear part.
    allowed = history.of_branches(session.branches) if near and session.branches else None
    near = [moment for moment in near if allowed is None or moment.id in allowed]
    history.files(near)
    for moment in near:
        index = session.index_at(moment.authored)
        if not edits.unseen.keys().isdisjoint(history.lines(moment)) and _is_of(
            moment, session.edited_paths(checkouts, index), history
        ):
            yield Boundary(index, moment, HISTORY)


def _merge_unfit(merge: Boundary, history: History, results: dict[str, Boundary], edits: Edits) -> str | None:
    """A merge is a case when it brings in work of this session that is no case already."""
    moment = merge.commit
    if len(moment.parents) > 1:
        brought = list_reachable(history.repo, *moment.parents[1:], f"^{moment.parents[0]}")
        if brought & results.keys():
            return "a merge whose commits are cases themselves"
    own = edits.find_own(history.lines(moment)) or _is_of(moment, edits.paths() | edits.unseen.keys(), history)
    return None if own else "a merge of work from elsewhere"


def _is_of(moment: Commit, edited: Collection[str], history: History) -> bool:
    """Whether at least half of a commit's files are among those that were edited."""
    paths = {file.new_path or file.path for file in history.files([moment]).get(moment.id, ())}
    return bool(paths) and len(paths.intersection(edited)) * 2 >= len(paths)
