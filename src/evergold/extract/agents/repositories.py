"""Sessions of many repositories at once: each is read beside the repository it worked in, which the log names by its folder."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from evergold.errors import NotFound
from evergold.extract.agents.extraction import AgentExtraction, AgentRules, SessionRead
from evergold.extract.extracted import Extracted, SkippedItem, Wanted
from evergold.model.flow import Flow
from evergold.model.rejected import Rejected
from evergold.repo.git import Repo
from evergold.repo.worktrees import common_folder

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
        self._only = self._opened(Path(repo_dir)) if repo_dir is not None else None

    def take(self, flow: Flow) -> Iterator[Rejected | SkippedItem]:
        yield from self.absorb(self.read(flow))

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
            try:
                with Repo.open(folder) as repo:
                    self._stores[folder] = common_folder(repo)
            except NotFound:
                self._stores[folder] = None
        # A folder that is no repository here tells nothing, so the session is taken to be of the repository given.
        return self._stores[folder] not in (None, *self._by_store)

    def _of_folder(self, folder: str) -> AgentExtraction | None:
        if folder not in self._by_folder:
            try:
                self._by_folder[folder] = self._opened(Path(folder))
            except NotFound:
                self._by_folder[folder] = None
        return self._by_folder[folder]

    def _opened(self, folder: Path) -> AgentExtraction:
        """The extraction of a repository; its work trees and sub-folders share one."""
        # The stack closes all repositories at the end: extraction asks them for cases after the last session.
        repo = self._stack.enter_context(Repo.open(folder))
        store = common_folder(repo)
        if store not in self._by_store:
            name = (store.parent if store.name == ".git" else store).name.removesuffix(".git")
            rules = replace(self._rules, repository=self._rules.repository or name)
            self._by_store[store] = AgentExtraction(repo, rules, self._wanted)
        return self._by_store[store]
