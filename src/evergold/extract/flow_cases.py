"""One flow → its context cases.

It is cut into segments at its merges, and each segment becomes a case with a query, a proved base commit, the files and
lines its diff touched (golden) and those the agent looked at (secondary). What cannot be derived is left open and said,
what cannot be read at all is rejected and said.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from evergold.errors import BadInput
from evergold.extract.base_commit import Base, derive_base
from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.golden import (
    DATASET,
    Extracted,
    Golden,
    Segment,
    Wanted,
    golden_of,
    is_merge_approval,
    read_approval,
    split,
)
from evergold.extract.ranges import (
    HunkContext,
    PathRanking,
    PathSource,
    RangeRanking,
    RangeSource,
    Side,
    paths_of,
    spans_of,
    with_proof,
)
from evergold.extract.tools import evidence_of, seen_in_arguments, seen_in_result
from evergold.model.case import Case, CaseKind, LineRange, Provenance
from evergold.model.faults import Rejected
from evergold.model.flow import Action, Flow
from evergold.repo.git import Repo

RANK_QUERY = "ranked_repo_summary"


@dataclass(frozen=True)
class Rules:
    """The choices of an extraction; the defaults are those a benchmark wants, the others read the approvals literally."""

    all_approvals: bool = False
    side: Side = Side.BASE
    context: HunkContext = HunkContext.TRIM
    source: str = "sidekick"
    evidence: bool = False


def extract_flow(
    flow: Flow, repo: Repo | None = None, rules: Rules | None = None, wanted: Wanted = lambda case_id: True
) -> Iterator[Extracted | Rejected | str]:
    """The cases of one flow. A case that is not `wanted` (already known) costs nothing and gives its id alone."""
    rules = rules or Rules()
    for problem in flow.metadata.get("problems", ()):
        yield Rejected(where=f"flow {flow.id}", reason=problem)
    for segment in split(flow, rules.all_approvals):
        if not wanted(segment.case_id):
            yield segment.case_id
            continue
        try:
            yield _extract(flow, segment, repo, rules)
        except BadInput as problem:
            yield Rejected(where=f"flow {flow.id}, case {segment.case_id}", field="diff", reason=problem.message)


def _extract(flow: Flow, segment: Segment, repo: Repo | None, rules: Rules) -> Extracted:
    golden = golden_of(segment)
    query = _query(segment.actions)
    base = derive_base(repo, segment.approval, golden) if repo else Base(None, "no repository was given")
    if base.files is not None:
        golden = replace(golden, files=base.files)
    paths, ranges, remarks = _ranked(flow, segment, golden, rules)
    ranked = ranges.ranked()
    if repo and base.commit and rules.side is Side.BASE:
        ranked = with_proof(ranked, repo, base.commit, RangeSource.GOLDEN_DIFF)
    case = Case(
        id=segment.case_id,
        dataset=DATASET,
        kind=CaseKind.CONTEXT,
        input=query or "",
        paths=paths.ranked(),
        ranges=ranked,
        base_commit=base.commit,
        metadata=_metadata(flow, base, query, _golden_lines_exist(ranked, rules)),
        provenance=Provenance(
            source=rules.source,
            workspace_id=flow.workspace_id,
            task_id=flow.task_id,
            flow_id=flow.id,
            case_index=segment.index,
        ),
    )
    why_no_query = "" if query else "no ranked_repo_summary of this case has a rankQuery"
    evidence = evidence_of(flow, segment) if rules.evidence else None
    return Extracted(case, why_no_query, base.reason, tuple(remarks), evidence)


def _query(actions: Iterable[Action]) -> str | None:
    for action in actions:
        text = action.params.get("rankQuery") if action.type == RANK_QUERY else None
        if isinstance(text, str) and text.strip():
            return text
    return None


def _golden_lines_exist(ranges: Iterable[LineRange], rules: Rules) -> bool:
    """Whether every golden range carries the proof of its text at base; ranges of the new side are not at base."""
    return rules.side is not Side.BASE or all(
        item.text_hash for item in ranges if RangeSource.GOLDEN_DIFF in item.sources
    )


def _metadata(flow: Flow, base: Base, query: str | None, golden_lines_exist: bool) -> dict[str, Any]:
    """`baseVerified`: the diff applies to the base commit and every golden line exists there."""
    metadata: dict[str, Any] = {}
    if base.commit:
        metadata["baseVerified"] = golden_lines_exist
    if not query and flow.description and flow.description.strip():
        metadata["suggestedQuery"] = flow.description
    return metadata


def _ranked(flow: Flow, segment: Segment, golden: Golden, rules: Rules) -> tuple[PathRanking, RangeRanking, list[str]]:
    paths, ranges, remarks = PathRanking(), RangeRanking(), list[str]()
    paths.add_golden(golden.files)
    for file in golden.files:
        file_path = file.old_path if rules.side is Side.BASE else file.new_path
        for start, end in spans_of(file, rules.side, rules.context):
            ranges.add(file_path or file.path, start, end, RangeSource.GOLDEN_DIFF)
    folder = flow.metadata.get("working_directory")
    # The last action is the approval itself: its diff is the golden part already.
    for action in segment.actions[:-1]:
        for source, seen_list in (
            ("tool_call_args", seen_in_arguments(action)),
            ("tool_call_result", seen_in_result(action)),
        ):
            for seen in seen_list:
                path = inside(seen.path, folder)
                if path is None:
                    remarks.append(f"{seen.path} lies outside the repository")
                    continue
                paths.add(path, PathSource(source))
                if seen.start is not None and seen.end is not None:
                    ranges.add(path, seen.start, seen.end, RangeSource(source))
        for shown in _other_diffs(action, remarks):
            for shown_path in paths_of(shown):
                paths.add(shown_path, PathSource.DIFF)
    return paths, ranges, list(dict.fromkeys(remarks))


def _other_diffs(action: Action, remarks: list[str]) -> list[FileDiff]:
    """Files of diffs that an action shows: a review that was turned down, a tool that printed one."""
    if is_merge_approval(action):
        texts = [read_approval(action).diff]
    else:
        texts = [value for value in (action.params.get("diff"), action.result) if isinstance(value, str)]
    files: list[FileDiff] = []
    for text in texts:
        # A tool prints remarks before its diff.
        start = 0 if text.startswith("diff --git ") else text.find("\ndiff --git ") + 1
        if not text.startswith("diff --git ", start):
            continue
        try:
            files += parse_diff(text[start:])
        except BadInput as problem:
            remarks.append(f"a diff in action {action.id} cannot be read: {problem.message}")
    return files


@lru_cache(maxsize=4096)
def inside(path: str, folder: str | None) -> str | None:
    """A path relative to the repository; None for one that leads out of it."""
    pure = PurePosixPath(path)
    if pure.is_absolute():
        if not folder or not pure.is_relative_to(folder):
            return None
        pure = pure.relative_to(folder)
    parts: list[str] = []
    for part in pure.parts:
        # A `..` that leads above the root is refused, not clamped: it names another file than it seems.
        if part == ".." and not parts:
            return None
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts) or None
