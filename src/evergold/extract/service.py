"""The facade of extraction: context cases from merged agent work, session logs and git history."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection

from evergold import plugins
from evergold.errors import BadInput, unknown
from evergold.extract.agents.extraction import AgentRules
from evergold.extract.agents.session import TRAILERS
from evergold.extract.flow_cases import Rules
from evergold.extract.golden import DATASET
from evergold.extract.history import HistoryQuery, HistoryRules
from evergold.extract.messages import CommitKind
from evergold.extract.ranges import HunkContext, Side
from evergold.extract.run import (
    EXTRACTED,
    Extraction,
    RowCheck,
    Summary,
    check_rows,
    extract_history,
    extract_sessions,
    extract_sidekick,
    repository_name,
)
from evergold.model.case import Case
from evergold.seams import FlowSource
from evergold.spread import spread_over
from evergold.storage import find_matching, location
from evergold.store import Store
from evergold.store.case.cases import case_ids, touched_cases
from evergold.store.case.writes import Author, put_cases

BATCH = 200
INTO = {"out_dir": Path(), "full": False, "into_store": False}
OF_SESSIONS = {"repo_dir": None, "trailers": (), "cluster": None, **INTO}
OPTIONS: dict[str, dict[str, Any]] = {
    "git": {"repo": Path(), "revision": "HEAD", "since": "", "first_parent": False, "limit": None, "max_files": 20}
    | {"exclude": (), "no_default_excludes": False, "kinds": "feature,fix,refactor", "cluster": None, **INTO},
    "sidekick": {"workspace_id": None, "repo_dir": None, "sidekick_db": None, "skip_archived": False}
    | {"all_approvals": False, "range_side": "base", "hunk_context": "trim", **INTO},
    "claude-code": {"project": None, **OF_SESSIONS},
    "codex": {"sessions": None, **OF_SESSIONS},
    **{agent: {"files": (), **OF_SESSIONS} for agent in ("atif", "openhands", "swe-agent", "aider")},
}
"""The sources of an extraction, and the options of each as `evergold extract` names them, with what they are if not given."""

Advance = Callable[[int], None]
Progress = Callable[[str, int | None], AbstractContextManager[Advance]]  # what is counted, and how many there are


@dataclass(frozen=True)
class Destination:
    """Where an extraction writes: two files in a folder, and the store too where that is wanted."""

    out_dir: Path = Path()
    full: bool = False
    into_store: bool = False


@dataclass(frozen=True)
class SidekickQuery:
    """Which tasks of which Sidekick database; `repo_dir` replaces the repository that the workspace names."""

    workspace_id: str
    database: Path | None = None
    skip_archived: bool = False
    repo_dir: Path | None = None


@dataclass(frozen=True)
class SessionQuery:
    """Which session logs of which agent (a flow source); Claude Code and Codex without paths: where they keep them."""

    agent: str
    paths: tuple[Path, ...] = ()
    repo_dir: Path | None = None
    trailers: tuple[str, ...] = TRAILERS


def _silent(_label: str, _total: int | None) -> AbstractContextManager[Advance]:
    return nullcontext(lambda _: None)


class Flows:
    """`store` opens the database; it is asked for only when an extraction goes into it."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def extract(self, source: str, given: Mapping[str, Any], progress: Progress = _silent) -> Summary:
        """Extract cases from one of `OPTIONS`, with the options given."""
        others = {name: {"files": (), **OF_SESSIONS} for name in plugins.foreign_names("flow_sources")}
        known = {**others, **OPTIONS}
        if source not in known:
            raise BadInput(unknown("source of cases", source, tuple(known)))
        for name in given:
            if name not in known[source]:
                raise BadInput(unknown(f"option of extract {source}", name, tuple(known[source])))
        options = {**known[source], **given}
        into = Destination(location(options["out_dir"]), options["full"], options["into_store"])
        repo_dir = options.get("repo_dir") and location(options["repo_dir"])
        if source == "sidekick":
            if not options["workspace_id"]:
                raise BadInput("workspace_id is missing: which workspace of the Sidekick app to extract from")
            database = options["sidekick_db"] and location(options["sidekick_db"])
            asked = SidekickQuery(options["workspace_id"], database, options["skip_archived"], repo_dir)
            sides = Side(options["range_side"]), HunkContext(options["hunk_context"])
            return self.sidekick(
                asked, into, Rules(options["all_approvals"], *sides, evidence=into.into_store), progress
            )
        if source == "git":
            kept = () if options["no_default_excludes"] else HistoryRules().exclude
            kinds = CommitKind.read_list(options["kinds"])
            rules = HistoryRules(max_files=options["max_files"], exclude=(*kept, *options["exclude"]), kinds=kinds)
            named = (options[name] for name in ("revision", "since", "first_parent", "limit"))
            return self.history(
                HistoryQuery(location(options["repo"]), *named), into, rules, progress, options["cluster"]
            )
        paths = options.get("files") or (options.get("project") or options.get("sessions"),)
        files = tuple(location(path) for path in ([paths] if isinstance(paths, str | Path) else paths) if path)
        if "files" in options:
            files = tuple(one for path in files for one in find_matching(path))
        query = SessionQuery(source, files, repo_dir, options["trailers"] or TRAILERS)
        return self.sessions(query, into, progress, options["cluster"])

    def sidekick(
        self, query: SidekickQuery, into: Destination, rules: Rules | None = None, progress: Progress = _silent
    ) -> Summary:
        """Extract the completed tasks of the Sidekick app."""
        from evergold.sources.sidekick import SidekickSource

        source = SidekickSource(query.workspace_id, query.database, query.skip_archived)
        with self._open(into) as extraction, progress("flows", source.count()) as advance:
            return extract_sidekick(source, extraction, query.repo_dir, rules, advance)

    def history(
        self,
        query: HistoryQuery,
        into: Destination,
        rules: HistoryRules | None = None,
        progress: Progress = _silent,
        cluster: str | None = None,
    ) -> Summary:
        """Extract the commits of a repository; with the address of a Dask cluster, by workers that see the repository."""
        rules = rules or HistoryRules()
        if not rules.repository:
            rules = replace(rules, repository=repository_name(query.repo_dir))
        with self._open(into) as extraction, progress("commits", None) as advance, spread_over(cluster) as spread:
            return extract_history(query, extraction, rules, advance, spread)

    def sessions(
        self, query: SessionQuery, into: Destination, progress: Progress = _silent, cluster: str | None = None
    ) -> Summary:
        """Extract the sessions of a coding agent that led to commits; with a cluster, workers read the logs."""
        source = _source(query.agent, query.paths)
        with plugins.name_culprit("flow_sources", query.agent):
            return self._extract_sessions(source, query, into, progress, cluster)

    def _extract_sessions(
        self, source: FlowSource, query: SessionQuery, into: Destination, progress: Progress, cluster: str | None
    ) -> Summary:
        rules = AgentRules(trailers=query.trailers, evidence=into.into_store)
        bar = progress("sessions", source.count())
        with self._open(into) as extraction, bar as advance, spread_over(cluster) as spread:
            return extract_sessions(source, extraction, query.repo_dir, rules, advance, spread)

    def check_rows(self, path: Path, repo_dir: Path, advance: Advance = lambda rows: None) -> RowCheck:
        """Prove every row of a dataset A or B file against the repository."""
        return check_rows(path, repo_dir, advance)

    def fill_from_history(self, repo_dir: Path, limit: int, advance: Advance = lambda commits: None) -> int:
        """Put the newest cases of a repository's history into dataset `context`; return how many.

        No file is written. A commit whose message says too little is a case for a reviewer, not for a first look.
        """
        usable: list[Case] = []

        def keep(case: Case) -> None:
            if case.input:
                usable.append(case)

        rules = HistoryRules(repository=repository_name(repo_dir))
        # Extraction writes files by nature; these are thrown away.
        with TemporaryDirectory(prefix="evergold-") as folder:
            extract_history(HistoryQuery(repo_dir, limit=limit), Extraction(Path(folder), keep=keep), rules, advance)
        self._store().db.write(partial(_put_cases, cases=usable))
        return len(usable)

    @contextmanager
    def _open(self, into: Destination) -> Iterator[Extraction]:
        """Open the folder, and the store where it is wanted too; cases are stored in batches."""
        if not into.into_store:
            yield Extraction(into.out_dir, into.full)
            return
        store, batch = self._store(), list[Case]()

        def keep(case: Case) -> None:
            batch.append(case)
            if len(batch) >= BATCH:
                store.db.write(partial(_put_cases, cases=batch))
                batch.clear()

        # Read once: asking the store for every commit of a long history would take longer than reading it.
        stored = store.read(case_ids, DATASET)
        yield Extraction(into.out_dir, into.full, keep, lacks=lambda case_id: case_id not in stored)
        # After the block: the last batch is stored only if the extraction went well.
        store.db.write(partial(_put_cases, cases=batch))


def _put_cases(connection: Connection, cases: Sequence[Case]) -> None:
    """Store cases that an extraction may work out again and again: one that somebody edited or judged stays as it is."""
    keys = [(case.dataset, case.id) for case in cases]
    # What people touched is excluded; what an extraction wrote before may be replaced.
    touched = touched_cases(connection, keys, (EXTRACTED, Author().action))
    free = [case for case, key in zip(cases, keys, strict=True) if key not in touched]
    put_cases(connection, free, Author(action=EXTRACTED))


def _source(agent: str, paths: Sequence[Path]) -> FlowSource:
    """Open the logs of an agent: two keep them in a folder of their own, for the others files are named."""
    files = tuple(paths) if agent not in ("claude-code", "codex") else paths[0] if paths else None
    source: FlowSource = plugins.load("flow_sources", agent, files)
    return source
