"""Sessions of coding agents → context cases, in the same files and by the same rules as every other extraction."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from evergold.errors import BadInput
from evergold.extract.agents.extraction import AgentRules, SessionRead
from evergold.extract.agents.repositories import SessionCases
from evergold.extract.extracted import Extracted, SkippedItem, Wanted
from evergold.extract.run import Extraction, Item, Summary, run_extraction
from evergold.model.flow import Flow
from evergold.seams import FlowSource
from evergold.spread import Spread
from evergold.store.values import batches

SESSIONS_A_PART = 8


def extract_sessions(
    source: FlowSource,
    into: Extraction,
    repo_dir: Path | None = None,
    rules: AgentRules | None = None,
    advance: Callable[[int], None] = lambda sessions: None,
    spread: Spread | None = None,
) -> Summary:
    """Cases of the sessions of a source. The repository is the one given, else the one each session worked in.

    With `spread` workers read the sessions; the cases are made here, of what all of them say.
    """
    totals: Counter[str] = Counter()

    def produce(wanted: Wanted) -> Iterator[Item]:
        with SessionCases(repo_dir, rules, wanted) as sessions:
            here = map(sessions.read, source.flows())
            for session in _read_elsewhere(source, repo_dir, rules, spread) if spread else here:
                yield from sessions.absorb(session)
                advance(1)
            for item in sessions.cases():
                if isinstance(item, Extracted):
                    totals.update(item.case.metadata["reads"])
                yield item
            totals.update(
                {f"calls of the unknown tool {name}": count for name, count in sessions.unknown_tools.items()}
            )

    summary = run_extraction(produce, into)
    summary.remarks += [f"left out of the looks: {count} {name}" for name, count in totals.most_common()]
    return summary


def _read_elsewhere(
    source: FlowSource, repo_dir: Path | None, rules: AgentRules | None, spread: Spread
) -> Iterator[SessionRead | SkippedItem]:
    """Have workers read the sessions, a few at a time, since each part opens the repository anew."""
    readers = getattr(source, "readers", None)
    if readers is None:
        raise BadInput(f"{type(source).__name__} cannot be read by the workers of a cluster; leave --cluster out")
    work = partial(read_sessions, repo_dir.absolute() if repo_dir else None, rules)
    return chain.from_iterable(spread(work, batches(readers(), SESSIONS_A_PART)))


def read_sessions(
    repo_dir: Path | None, rules: AgentRules | None, readers: Sequence[Callable[[], Flow]]
) -> list[SessionRead | SkippedItem]:
    """Read some sessions; what a worker does, which sees the logs and the repository under the same paths."""
    with SessionCases(repo_dir, rules) as sessions:
        return [sessions.read(reader()) for reader in readers]
