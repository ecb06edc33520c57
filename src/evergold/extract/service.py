"""The facade of extraction: context cases from merged agent work, session logs and git history."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection

from evergold import plugins
from evergold.errors import BadInput, describe_unknown
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
    Summary,
    check_rows,
    extract_history,
    extract_sessions,
    extract_sidekick,
    repository_name,
)
from evergold.model.case import Case
from evergold.seams import FlowSource
from evergold.sources.sidekick import SidekickSource
from evergold.spread import spread_over
from evergold.storage import find_matching, location
from evergold.store import Store
from evergold.store.case.cases import case_ids, find_touched_cases
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


class Flows:
    """`store` opens the database; it is asked for only when an extraction goes into it."""

    check_rows = staticmethod(check_rows)

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def extract(
        self, source: str, given: Mapping[str, Any], progress: Progress = lambda *_: nullcontext(lambda _: None)
    ) -> Summary:
        """Extract cases from one of `OPTIONS`, with the options given."""
        others = {name: {"files": (), **OF_SESSIONS} for name in plugins.foreign_names("flow_sources")}
        known = {**others, **OPTIONS}
        if source not in known:
            raise BadInput(describe_unknown("source of cases", source, tuple(known)))
        for name in given:
            if name not in known[source]:
                raise BadInput(describe_unknown(f"option of extract {source}", name, tuple(known[source])))
        options = {**known[source], **given}
        into_store, cluster = options["into_store"], options.get("cluster")
        repo_dir = options.get("repo_dir") and location(options["repo_dir"])
        with self._open(options) as into:
            if source == "sidekick":
                if not options["workspace_id"]:
                    raise BadInput("workspace_id is missing: which workspace of the Sidekick app to extract from")
                database = options["sidekick_db"] and location(options["sidekick_db"])
                tasks = SidekickSource(options["workspace_id"], database, options["skip_archived"])
                sides = Side(options["range_side"]), HunkContext(options["hunk_context"])
                rules = Rules(options["all_approvals"], *sides, evidence=into_store)
                with progress("flows", tasks.count()) as advance:
                    return extract_sidekick(tasks, into, repo_dir, rules, advance)
            if source == "git":
                repo = location(options["repo"])
                query = HistoryQuery(repo, *(options[name] for name in ("revision", "since", "first_parent", "limit")))
                history = HistoryRules(
                    options["max_files"],
                    tuple(options["exclude"]),
                    CommitKind.read_list(options["kinds"]),
                    repository=repository_name(repo),
                    noise=options["no_default_excludes"],
                )
                with progress("commits", None) as advance, spread_over(cluster) as spread:
                    return extract_history(query, into, history, advance, spread)
            with plugins.name_culprit("flow_sources", source):
                logs = _logs(source, options)
                agents = AgentRules(options["trailers"] or TRAILERS, evidence=into_store)
                with progress("sessions", logs.count()) as advance, spread_over(cluster) as spread:
                    return extract_sessions(logs, into, repo_dir, agents, advance, spread)

    def fill_from_history(self, repo_dir: Path, limit: int, advance: Advance = lambda commits: None) -> int:
        """Put the newest cases of a repository's history into dataset `context`; return how many.

        No file is written. A commit whose message says too little is a case for a reviewer, not for a first look.
        """
        cases: list[Case] = []
        rules = HistoryRules(repository=repository_name(repo_dir))
        # Extraction writes files by nature; these are thrown away.
        with TemporaryDirectory(prefix="evergold-") as folder:
            into = Extraction(Path(folder), keep=cases.append)
            extract_history(HistoryQuery(repo_dir, limit=limit), into, rules, advance)
        usable = [case for case in cases if case.input]
        self._store().db.write(partial(_put_cases, cases=usable))
        return len(usable)

    @contextmanager
    def _open(self, options: Mapping[str, Any]) -> Iterator[Extraction]:
        """Open the folder, and the store where it is wanted too; cases are stored in batches."""
        folder, full = location(options["out_dir"]), options["full"]
        if not options["into_store"]:
            yield Extraction(folder, full)
            return
        store, batch = self._store(), list[Case]()

        def keep(case: Case) -> None:
            batch.append(case)
            if len(batch) >= BATCH:
                store.db.write(partial(_put_cases, cases=batch))
                batch.clear()

        # Read once: asking the store for every commit of a long history would take longer than reading it.
        stored = store.read(case_ids, DATASET)
        yield Extraction(folder, full, keep, lacks=lambda case_id: case_id not in stored)
        # After the block: the last batch is stored only if the extraction went well.
        store.db.write(partial(_put_cases, cases=batch))


def _put_cases(connection: Connection, cases: Sequence[Case]) -> None:
    """Store cases that an extraction may work out again and again: one that somebody edited or judged stays as it is."""
    keys = [(case.dataset, case.id) for case in cases]
    # What people touched is excluded; what an extraction wrote before may be replaced.
    touched = find_touched_cases(connection, keys, (EXTRACTED, Author().action))
    free = [case for case, key in zip(cases, keys, strict=True) if key not in touched]
    put_cases(connection, free, Author(action=EXTRACTED))


def _logs(agent: str, options: Mapping[str, Any]) -> FlowSource:
    """Open the logs of an agent: two keep them in a folder of their own, for the others files are named."""
    if "files" in options:
        given = options["files"]
        named = [given] if isinstance(given, str | Path) else given
        paths: object = tuple(file for path in named for file in find_matching(location(path)))
    else:
        folder = options.get("project") or options.get("sessions")
        paths = location(folder) if folder else None
    source: FlowSource = plugins.load("flow_sources", agent, paths)
    return source
