"""A session of an agent as the extraction sees it: its steps in order, each with what it amounts to.

Find the repository's folder on the machine of a session: absolute paths of a log → paths in the repository.

The machine may be another one, the folder gone, the work done in a sub-folder, in a second work tree, behind a symbolic link. So
nothing is looked up on disk: each path of the session that ends in a file of the repository votes for the folder before
that, and folders that are confirmed by where the session worked, or by several files, are checkouts.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from evergold.extract.agents.calls import events_of, is_known, tool_of
from evergold.extract.agents.events import Changed, Committed, Event, FileRef, Looked, Moved
from evergold.extract.agents.shell_reads import joined
from evergold.model.flow import Action, Flow

ENOUGH_VOTES = 3


class Checkouts:
    def __init__(self, tracked: Collection[str], paths: Iterable[str], folders: Iterable[str]) -> None:
        votes = Counter(root for path in paths if (root := _root_of(path, tracked)) is not None)
        worked_in = list(dict.fromkeys(folders))
        self.roots = {
            root
            for root, count in votes.items()
            # One vote may be chance (a file README.md exists
            # everywhere); three files, or the folder worked in, are not.
            if count >= ENOUGH_VOTES or not worked_in or any(_inside(at, root) or at == root for at in worked_in)
        }
        # Nothing matched: the session may have worked on files that are new, so its first folder is believed.
        if not self.roots:
            self.roots = set(worked_in[:1])
        # The longest root first: a work tree may lie inside the main checkout.
        self._by_length = sorted(self.roots, key=len, reverse=True)
        first = worked_in[0] if worked_in else ""
        self._main = next((root for root in self._by_length if first == root or _inside(first, root)), "")

    def locate(self, path: str, folder: str | None) -> tuple[str, str] | None:
        """(checkout, path in the repository); None for a path that lies outside all of them.

        A path that starts nowhere, as git prints it, is one of the repository.
        """
        # A URL, a home folder or a variable cannot be resolved without the machine of the session.
        if "://" in path or path.startswith(("~", "$")):
            return None
        full = joined(folder, path)
        if not full.startswith("/"):
            return None if full.startswith("..") or full == "." else (self._main, full)
        for root in self._by_length:
            if _inside(full, root):
                return root, full[len(root.rstrip("/")) + 1 :]
        return None


def _root_of(path: str, tracked: Collection[str]) -> str | None:
    """The folder before the longest end of the path that is a file of the repository."""
    if not path.startswith("/"):
        return None
    at = path.find("/", 1)
    while at >= 0:
        if path[at + 1 :] in tracked:
            return path[:at]
        at = path.find("/", at + 1)
    return None


def _inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


# Tools that are known to show no lines of files; they are not reported as unknown.
_SHOWS_NO_FILE = frozenset(
    [
        "task",
        "agent",
        "todowrite",
        "taskcreate",
        "taskupdate",
        "tasklist",
        "taskget",
        "taskoutput",
        "taskstop",
        "skill",
        "exitplanmode",
        "enterplanmode",
        "webfetch",
        "websearch",
        "askuserquestion",
        "bashoutput",
        "killshell",
        "update_plan",
        "view_image",
        "write_stdin",
        "web_search",
        "toolsearch",
    ]
)


@dataclass(frozen=True)
class SessionStep:
    action: Action
    events: tuple[Event, ...]


@dataclass
class Session:
    flow: Flow
    steps: list[SessionStep] = field(default_factory=list)
    unknown_tools: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, flow: Flow) -> "Session":
        session = cls(flow)
        for action in flow.actions:
            session.steps.append(SessionStep(action, tuple(events_of(action))))
            tool = tool_of(action)
            # A tool of an MCP server is of the user's own making: nobody expects it to be known here.
            if tool and not is_known(action) and tool not in _SHOWS_NO_FILE and "mcp__" not in action.type:
                session.unknown_tools[tool] += 1
        return session

    @property
    def began(self) -> datetime:
        return self.steps[0].action.created

    @property
    def ended(self) -> datetime:
        return self.steps[-1].action.created

    @cached_property
    def branches(self) -> list[str]:
        named = [step.action.branch for step in self.steps] + [self.flow.branch]
        return [name for name in dict.fromkeys(named) if name and name != "HEAD"]

    def index_at(self, time: datetime) -> int:
        """The last step that was taken by then; -1 for a time before all of them."""
        index = -1
        for at, step in enumerate(self.steps):
            # Times of a log need not rise; the last step in its order that is early enough counts.
            if step.action.created <= time:
                index = at
        return index

    def commits(self) -> Iterator[tuple[int, Committed]]:
        for at, step in enumerate(self.steps):
            yield from ((at, event) for event in step.events if isinstance(event, Committed))

    def edited(self, checkouts: Checkouts, until: int) -> set[str]:
        """Paths in the repository that steps up to one of them changed."""
        return {located[1] for ref in self._changed(until) if (located := checkouts.locate(*ref)) is not None}

    def looked(self, checkouts: Checkouts, until: int) -> set[str]:
        """Paths in the repository of which steps up to one of them showed something, or that they asked for."""
        events = (event for step in self.steps[: until + 1] for event in step.events)
        refs = {event.ref for event in events if isinstance(event, Looked) and (event.asked or event.numbered)}
        return {located[1] for ref in refs if (located := checkouts.locate(*ref)) is not None}

    def _changed(self, until: int) -> Iterator[FileRef]:
        for step in self.steps[: until + 1]:
            for event in step.events:
                if isinstance(event, Changed):
                    yield event.ref
                elif isinstance(event, Moved):
                    yield event.new

    def checkouts(self, tracked: Collection[str]) -> Checkouts:
        refs = [event.ref for step in self.steps for event in step.events if isinstance(event, Looked | Changed)]
        folders = [step.action.cwd for step in self.steps if step.action.cwd]
        if self.flow.repo_dir:
            folders.append(self.flow.repo_dir)
        return Checkouts(tracked, {joined(ref.folder, ref.path) for ref in refs}, folders)

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
        return text if isinstance(text, str) and text.strip() else None


# Fewer words than this are an answer or a nod and no request.
ENOUGH_WORDS = 4
