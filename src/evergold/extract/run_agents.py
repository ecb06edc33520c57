"""Sessions of coding agents → context cases, in the same files and by the same rules as every other extraction."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from evergold.extract.agents.extraction import AgentRules
from evergold.extract.agents.repositories import SessionCases
from evergold.extract.extracted import Extracted, Wanted
from evergold.extract.run import Extraction, Item, Summary, run_extraction
from evergold.seams import FlowSource


def extract_sessions(
    source: FlowSource,
    into: Extraction,
    repo_dir: Path | None = None,
    rules: AgentRules | None = None,
    advance: Callable[[int], None] = lambda sessions: None,
) -> Summary:
    """Cases of the sessions of a source. The repository is the one given, else the one each session worked in."""
    totals: Counter[str] = Counter()

    def produce(wanted: Wanted) -> Iterator[Item]:
        with SessionCases(repo_dir, rules, wanted) as sessions:
            for flow in source.flows():
                yield from sessions.take(flow)
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
