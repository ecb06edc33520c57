"""The part of a session that belongs to one commit: what was asked, and which paths and lines of its base were looked at."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from evergold.extract.agents.events import Changed, Event, FileRef, Lines, Looked, Moved, text_lines
from evergold.extract.agents.lines import Seen, WorkFile, seen_of
from evergold.extract.agents.session import Checkouts, Session
from evergold.repo.git import Repo

OUTSIDE, NOT_AT_BASE = "paths outside the repository", "paths that base does not have"
NEW_LINES, UNPROVED, LOOSE = "lines written in the session", "lines found nowhere at base", "edits without a place"


@dataclass
class Shown:
    """One path, with the base lines that were shown of it; none: only the path was seen. `written`: the agent wrote them
    itself, before the commit that is base."""

    path: str
    lines: list[int]
    asked: bool
    result: bool
    written: bool = False


@dataclass
class DraftPart:
    """What one session did for one commit."""

    session_id: str
    began: datetime
    requests: list[str]
    shown: list[Shown] = field(default_factory=list)
    edited: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    calls: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class BaseTree:
    """The files of a base commit. `renamed` maps the new names a case gives to the old ones base has."""

    repo: Repo
    commit: str
    renamed: dict[str, str]

    def name(self, path: str) -> str | None:
        """The path at base; None where base has no such file."""
        # The path itself first: a file of the old name may exist beside the renamed one.
        for name in (path, self.renamed.get(path)):
            if name and (result := self.repo.objects.at(self.commit, name)) and result.kind == "blob":
                return name
        return None

    def lines(self, name: str) -> Lines:
        result = self.repo.objects.at(self.commit, name)
        return _blob_lines(self.repo, result.id) if result and result.kind == "blob" else []


# Files are read once for many cases: successive commits share nearly all of their blobs.
@lru_cache(maxsize=512)
def _blob_lines(repo: Repo, blob: str) -> Lines:
    text = repo.objects.read(blob).decode("utf-8", "replace")
    return [line.rstrip("\r") for line in text_lines(text)] if text else []


class PartReader:
    """Walks the steps of a segment, keeping each file as its edits leave it."""

    def __init__(self, checkouts: Checkouts, tree: BaseTree, mapped: bool = True) -> None:
        self._checkouts = checkouts
        self._tree = tree
        self._mapped = mapped
        self._files: dict[tuple[str, str], tuple[str | None, WorkFile]] = {}

    def read(self, session: Session, first: int, last: int, remembered: set[str]) -> DraftPart:
        """Steps `first…last`, after those before them that showed files of `remembered`, which the agent still knew."""
        asked = session.requests(first, last)
        part = DraftPart(session.flow.id, session.steps[max(first, 0)].action.created, asked)
        if first > 0 and remembered:
            # A reader of its own: what the agent knew before must not move the line numbers of this part.
            earlier = PartReader(self._checkouts, self._tree, self._mapped)
            known = earlier._walk(session, range(first), Counter(), remembered)
            part.shown += [shown for shown in known if shown.lines]
        part.shown += self._walk(session, range(first, last + 1), part.counts)
        part.edited = session.edited(self._checkouts, last)
        return part

    def _walk(
        self, session: Session, steps: range, counts: Counter[str], only: set[str] | None = None
    ) -> Iterator[Shown]:
        """What steps showed. With `only`, of those files alone, and no edit is followed: the text has to tell."""
        for at in steps:
            for event in session.steps[at].events:
                if only is not None:
                    yield from self._known(event, only)
                elif isinstance(event, Looked):
                    yield from self._look(event, counts)
                elif isinstance(event, Changed):
                    self._change(event, counts)
                elif isinstance(event, Moved):
                    self._move(event)

    def _known(self, event: Event, only: set[str]) -> Iterator[Shown]:
        """What an earlier step showed of a file, or wrote into it: both are lines the agent knew when it came back."""
        if not isinstance(event, Looked | Changed):
            return
        located = self._checkouts.locate(*event.ref)
        if located is None or self._tree.renamed.get(located[1], located[1]) not in only:
            return
        if isinstance(event, Looked):
            yield from self._look(event, Counter())
        elif self._mapped and (written := event.written()):
            for shown in self._look(Looked(event.ref, shown=written), Counter()):
                yield replace(shown, asked=True, result=False, written=True)

    def _look(self, look: Looked, counts: Counter[str]) -> Iterator[Shown]:
        opened = self._open(look.ref)
        if opened is None:
            counts[OUTSIDE] += 1
            return
        name, file = opened
        if name is None:
            counts[NOT_AT_BASE] += 1
            return
        seen = seen_of(look, file) if self._mapped else _as_numbered(look, file)
        counts[NEW_LINES] += seen.new
        counts[UNPROVED] += seen.unproved
        result = bool(seen.at_base)
        # A lookup by text that matched nothing may have matched another file; it proves no path.
        lookup = look.shown is not None and look.span is None and not look.asked
        if result or not lookup:
            yield Shown(name, seen.at_base, look.asked, result=result or not look.asked)

    def _change(self, change: Changed, counts: Counter[str]) -> None:
        opened = self._open(change.ref)
        if opened is not None and not opened[1].change(change):
            counts[LOOSE] += 1

    def _move(self, move: Moved) -> None:
        old, new = self._checkouts.locate(*move.old), self._checkouts.locate(*move.new)
        opened = self._open(move.old)
        if old and new and opened:
            self._files[new] = self._files.pop(old)

    def _open(self, ref: FileRef) -> tuple[str | None, WorkFile] | None:
        located = self._checkouts.locate(*ref)
        if located is None:
            return None
        if located not in self._files:
            # A file that base lacks is followed as well: later edits of it must not look like edits without a position.
            name = self._tree.name(located[1])
            self._files[located] = (name, WorkFile(self._tree.lines(name) if name else ()))
        return self._files[located]


def _as_numbered(look: Looked, file: WorkFile) -> Seen:
    """The numbers of the log taken for numbers at base, as long as the file is: what a mapping is measured against."""
    count = len(file.base)
    if look.numbered:
        return Seen([number for number in sorted(look.numbered) if number <= count])
    if look.span is None or not look.shown:
        return Seen([])
    first = look.span.first if look.span.first > 0 else max(1, count + look.span.first + 1)
    return Seen(list(range(first, min(look.span.last or count, count) + 1)))
