"""Run an extraction: coding-agent work and git history in, context cases out, in files and for the store.

`run_extraction` is the loop every source shares: what the files in the folder already know is skipped, every case and
every problem is counted, and nothing is written before all of it went well. Completed tasks are cut into cases one flow at a
time; sessions of coding agents give theirs at the end, because several may share a case.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from evergold.errors import BadInput, NotFound
from evergold.extract.agents.extraction import AgentRules, SessionCases, SessionRead
from evergold.extract.flow_cases import Rules, extract_flow
from evergold.extract.golden import Extracted, SkippedItem, Wanted
from evergold.extract.history import HistoryQuery, HistoryRules, history_cases
from evergold.extract.proof import prove_rows
from evergold.formats.dataset_ab import read_cases
from evergold.formats.dataset_pair import DatasetPair, RowOutcome, lock_pair
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.model.flow import Flow
from evergold.model.report import Printable
from evergold.repo.git import Repo
from evergold.seams import FlowSource
from evergold.sources.sidekick import SidekickSource
from evergold.spread import Spread
from evergold.store.database.rows import batches

EXTRACTED = "extracted"

Item = Extracted | Rejected | SkippedItem | str
Keep = Callable[[Case], None]


@dataclass(repr=False)
class Summary(Printable):
    """What an extraction did, case by case; `needs…` maps a case to the reason it is open.

    `kinds` counts the commits of a history that were read, taken or not, and `bots` those that programs wrote.
    """

    counts: Counter[str] = field(default_factory=Counter)
    needs_query: dict[str, str] = field(default_factory=dict)
    needs_base_commit: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    bots: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def table(self) -> tuple[str, Sequence[str], list[tuple[object, ...]]]:
        counts = ", ".join(f"{self.counts[name]} {name}" for name in ("new", "known", "completed", "resolved"))
        rows: list[tuple[object, ...]] = [(count, reason) for reason, count in self.skipped.most_common()]
        needs = {"query": self.needs_query, "base commit": self.needs_base_commit}
        rows += [(len(lacking), f"need a {what}") for what, lacking in needs.items() if lacking]
        return f"{counts}; {', '.join(self.files)}", ("left out", "why"), rows + [(1, item) for item in self.rejected]

    def as_dict(self) -> dict[str, Any]:
        names = ("new", "known", "completed", "resolved", "unchanged")
        return {
            **{name: self.counts[name] for name in names},
            "needsQuery": self.needs_query,
            "needsBaseCommit": self.needs_base_commit,
            "skipped": dict(self.skipped),
            **({"kinds": dict(self.kinds.most_common()), "bots": self.bots} if self.kinds else {}),
            "rejected": [str(item) for item in self.rejected],
            "remarks": self.remarks,
            "files": self.files,
        }


@dataclass(frozen=True)
class Extraction:
    """Where an extraction writes, and who else wants its cases: `keep` takes them, `lacks` says which it does not have."""

    out_dir: Path
    full: bool = False
    keep: Keep = lambda case: None
    lacks: Wanted = lambda case_id: False

    def needs(self, pair: DatasetPair, case_id: str) -> bool:
        """Whether the other place needs a case that the files have. A row that a person edited goes there by import only."""
        return self.lacks(case_id) and not pair.is_edited(case_id)


def run_extraction(produce: Callable[[Wanted], Iterator[Item]], into: Extraction) -> Summary:
    """`produce` is given the question "is this case wanted?" and yields cases, known ids and problems."""
    summary = Summary()
    # Two extractions into one folder would each write a file without the rows of the other.
    with lock_pair(into.out_dir):
        pair = DatasetPair(into.out_dir, into.full)
        try:
            # A case that the files have may still be missing in the store, for instance after a new database.
            for item in produce(lambda case_id: pair.wants(case_id) or into.needs(pair, case_id)):
                _take(item, pair, into, summary)
            pair.commit()
        finally:
            pair.close()
    summary.files = [str(pair.path_a), str(pair.path_b)]
    return summary


def _take(item: Item, pair: DatasetPair, into: Extraction, summary: Summary) -> None:
    if isinstance(item, Rejected):
        summary.rejected.append(item)
    elif isinstance(item, SkippedItem):
        summary.skipped[item.reason] += 1
    elif isinstance(item, str):
        summary.counts["known"] += 1
    # Known to the files and wanted by the store only: the row in the files stays as it is.
    elif not pair.wants(item.case.id):
        summary.counts["known"] += 1
        into.keep(_with_evidence(item))
    else:
        outcome = pair.put(item.case, item.lines)
        summary.counts[outcome] += 1
        if item.why_no_query:
            summary.needs_query[item.case.id] = item.why_no_query
        if item.why_no_base:
            summary.needs_base_commit[item.case.id] = item.why_no_base
        summary.remarks += [f"case {item.case.id}: {remark}" for remark in item.remarks]
        if outcome is not RowOutcome.UNCHANGED or into.needs(pair, item.case.id):
            into.keep(_with_evidence(item))


def _with_evidence(item: Extracted) -> Case:
    return item.case.model_copy(update={"extra": {"evidence": item.evidence}}) if item.evidence else item.case


def extract_sidekick(
    source: SidekickSource,
    into: Extraction,
    repo_dir: Path | None = None,
    rules: Rules | None = None,
    advance: Callable[[int], None] = lambda flows: None,
) -> Summary:
    """Cases of the completed tasks of a workspace. The repository is the one given, else the one the workspace names."""
    # Opened first, so that a folder that is no repository fails before a flow is read.
    repo, remark = None, "the workspace names no repository; give one with --repo-dir to derive base commits"
    if named := repo_dir or source.repo_dir():
        try:
            repo, remark = Repo.open(named), ""
        except NotFound as problem:
            # A repository that was given must be there; the workspace's may have moved, which costs only the bases.
            if repo_dir:
                raise
            remark = f"{problem.message}; give the repository with --repo-dir to derive base commits"

    def produce(wanted: Wanted) -> Iterator[Item]:
        for flow in source.flows():
            yield from extract_flow(flow, repo, rules, wanted)
            advance(1)

    try:
        summary = run_extraction(produce, into)
    finally:
        if repo:
            repo.close()
    summary.remarks[:0] = [remark] if remark else []
    return summary


def extract_history(
    query: HistoryQuery,
    into: Extraction,
    rules: HistoryRules,
    advance: Callable[[int], None] = lambda commits: None,
    spread: Spread | None = None,
) -> Summary:
    """Cases of a git history; `limit` counts cases, known ones too. `spread` has workers read parts of it."""
    kinds: Counter[str] = Counter()
    bots = 0
    with Repo.open(query.repo_dir) as repo:

        def produce(wanted: Wanted) -> Iterator[Item]:
            nonlocal bots
            result = 0
            for item in history_cases(repo, rules, query, wanted, spread):
                if isinstance(item, Extracted):
                    kinds[item.case.metadata["kind"]] += 1
                    bots += item.case.metadata["bot"]
                elif isinstance(item, SkippedItem):
                    kinds[item.kind] += 1
                    bots += item.bot
                yield item
                advance(1)
                result += not isinstance(item, SkippedItem | Rejected)
                # The limit counts known cases too: a second run adds nothing and does not walk further.
                if query.limit is not None and result >= query.limit:
                    return

        summary = run_extraction(produce, into)
    summary.kinds, summary.bots = kinds, bots
    return summary


def repository_name(repo_dir: Path) -> str:
    return repo_dir.resolve().name.removesuffix(".git")


@dataclass
class RowCheck:
    """What proving the rows of a file gave."""

    rows: int = 0
    proved: int = 0
    stale: dict[str, list[str]] = field(default_factory=dict)
    open: dict[str, str] = field(default_factory=dict)
    overridden: dict[str, str] = field(default_factory=dict)
    without_hashes: int = 0
    unproved_ranges: int = 0
    not_at_base: int = 0


def check_rows(path: Path, repo_dir: Path, advance: Callable[[int], None] = lambda rows: None) -> RowCheck:
    """Prove every row of a dataset A or B file against the repository, and say which are stale."""
    result = RowCheck()
    with Repo.open(repo_dir) as repo:
        for proof in prove_rows(read_cases(path), repo):
            result.rows += 1
            result.proved += not (proof.stale or proof.open or proof.overridden or proof.unproved_ranges)
            result.without_hashes += bool(proof.unproved_ranges)
            if proof.overridden:
                result.overridden[proof.case_id] = proof.overridden
            result.unproved_ranges += proof.unproved_ranges
            result.not_at_base += proof.not_at_base
            if proof.stale:
                result.stale[proof.case_id] = list(proof.stale)
            if proof.open:
                result.open[proof.case_id] = proof.open
            advance(1)
    return result


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
    totals = Counter[str]()

    def produce(wanted: Wanted) -> Iterator[Item]:
        with SessionCases(repo_dir, rules, wanted) as sessions:
            read: Iterable[SessionRead | SkippedItem] = map(sessions.read, source.flows())
            if spread:
                readers = getattr(source, "readers", None)
                if readers is None:
                    what = type(source).__name__
                    raise BadInput(f"{what} cannot be read by the workers of a cluster; leave --cluster out")
                work = partial(read_sessions, repo_dir.absolute() if repo_dir else None, rules)
                # A few at a time, since each part opens the repository anew.
                read = chain.from_iterable(spread(work, batches(readers(), SESSIONS_A_PART)))
            for session in read:
                yield from sessions.absorb(session)
                advance(1)
            for item in sessions.cases():
                if isinstance(item, Extracted):
                    totals.update(item.case.metadata["reads"])
                yield item
            for name, count in sessions.unknown_tools.items():
                totals[f"calls of the unknown tool {name}"] += count

    summary = run_extraction(produce, into)
    summary.remarks += [f"left out of the looks: {count} {name}" for name, count in totals.most_common()]
    return summary


def read_sessions(
    repo_dir: Path | None, rules: AgentRules | None, readers: Sequence[Callable[[], Flow]]
) -> list[SessionRead | SkippedItem]:
    """Read some sessions; what a worker does, which sees the logs and the repository under the same paths."""
    with SessionCases(repo_dir, rules) as sessions:
        return [sessions.read(reader()) for reader in readers]


def extract_cases(
    source: FlowSource, repo_dir: Path | str | None = None, rules: Rules | None = None
) -> Iterator[Extracted | Rejected]:
    """The cases of a source, one at a time; with a repository their base commits are derived and proved."""
    opened = nullcontext() if repo_dir is None else Repo.open(repo_dir)
    with opened as repo, SessionCases(repo_dir) as sessions:
        for flow in source.flows():
            items = sessions.absorb(sessions.read(flow)) if flow.agent else extract_flow(flow, repo, rules)
            for item in items:
                if isinstance(item, Extracted | Rejected):
                    yield item
                elif isinstance(item, SkippedItem):
                    yield Rejected(where=f"session {flow.id}", reason=item.reason)
        yield from (item for item in sessions.cases() if isinstance(item, Extracted))
