"""The door of this stage: flows → context cases, streamed.

Completed tasks are cut into cases one flow at a time; sessions of coding agents give theirs at the end, because several may
share a case.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from evergold.extract.agents.repositories import SessionCases
from evergold.extract.extracted import Extracted
from evergold.extract.flow_cases import Rules, extract_flow
from evergold.model.flow import Flow
from evergold.model.rejected import Rejected
from evergold.repo.git import Repo
from evergold.seams import FlowSource


def extract(
    flows: Iterable[Flow], repo: Repo | None = None, rules: Rules | None = None
) -> Iterator[Extracted | Rejected]:
    """The cases of many flows."""
    with SessionCases(repo.path if repo else None) as sessions:
        for flow in flows:
            for item in sessions.take(flow) if flow.agent else extract_flow(flow, repo, rules):
                if isinstance(item, Extracted | Rejected):
                    yield item
                elif flow.agent:
                    yield Rejected(where=f"session {flow.id}", reason=item)
        yield from (item for item in sessions.cases() if isinstance(item, Extracted))


def extract_cases(
    source: FlowSource, repo_dir: Path | str | None = None, rules: Rules | None = None
) -> Iterator[Extracted | Rejected]:
    """The cases of a source, one at a time; with a repository their base commits are derived and proved."""
    if repo_dir is None:
        yield from extract(source.flows(), None, rules)
        return
    with Repo.open(repo_dir) as repo:
        yield from extract(source.flows(), repo, rules)
