"""One Sidekick flow → its context cases.

It is cut into segments at its merges, and each segment becomes a case with a query, a proved base commit, the files
and lines its diff touched (golden) and those the agent looked at (secondary). What cannot be derived is left open and
said, what cannot be read at all is rejected and said.

The looks come from three context tools, each under the names and argument keys it has had. Results are read as text:
blocks of `File:`, `Lines:` and fenced code, or the output of `git grep --heading`. Code inside a fence is never taken
for a heading. Reviewers see the approved diff and the output of these tools beside a case: in `extra["evidence"]` of
a stored case, in the shape the review page reads; never in the rows of the files.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from evergold.errors import BadInput
from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.golden import (
    DATASET,
    Extracted,
    Golden,
    Segment,
    Wanted,
    change_of,
    golden_of,
    is_merge_approval,
    read_approval,
    split,
)
from evergold.extract.proof import BaseProof, prove
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
from evergold.model.case import Case, CaseKind, Provenance
from evergold.model.faults import Rejected
from evergold.model.flow import Action, Flow
from evergold.repo.git import Repo
from evergold.sources.agents.log_lines import objects_in

TOOL_CALL = "tool_call."

# One tool, under the two names it has had.
_SYMBOLS = ("get_symbol_definitions", "retrieve_code_context")
_READ = "read_file_lines"
_SEARCH = "bulk_search_repository"
_LINES = re.compile(r"Lines: (\d{1,9})(?:-(\d{1,9}))?(?!\d)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_GREP_LINE = re.compile(r"(\d{1,9})[:=-]")
_GREP_FLAT = re.compile(r"([^\s:]*[./][^\s:]*):(\d{1,9}):")
_GLOB = re.compile(r"[*?\[{]")


class ToolView(NamedTuple):
    """A path, with lines where some were named."""

    path: str
    start: int | None = None
    end: int | None = None


def tool_name(action: Action) -> str | None:
    """The name of a context tool; None for any other action."""
    name = action.type.removeprefix(TOOL_CALL)
    return name if name != action.type and name in (*_SYMBOLS, _READ, _SEARCH) else None


def seen_in_arguments(action: Action) -> Iterator[ToolView]:
    name, params = tool_name(action), action.params
    if name in _SYMBOLS:
        for request in objects_in(params.get("requests") or params.get("code_context_requests")):
            yield from _paths(request.get("file_path"))
    elif name == _READ:
        window = _number(params.get("window_size")) or 0
        for item in objects_in(params.get("file_lines")):
            line = _number(item.get("line_number"))
            for seen in _paths(item.get("file_path")):
                yield seen if line is None else ToolView(seen.path, max(1, line - window), max(1, line + window))
    elif name == _SEARCH:
        for search in objects_in(params.get("searches")):
            glob = search.get("path_glob")
            # A pattern names no file; a last part without a dot is a folder, and `..` or `.` is no file either.
            if isinstance(glob, str) and not _GLOB.search(glob) and "." in glob.rsplit("/", 1)[-1].strip("."):
                yield from _paths(glob)


def seen_in_result(action: Action) -> Iterator[ToolView]:
    """Nothing for a call that failed: its text is an error, whatever it mentions."""
    if action.error or not action.result:
        return
    name = tool_name(action)
    lines = action.result.split("\n")
    if name in _SYMBOLS or name == _READ:
        yield from _blocks(lines)
    elif name == _SEARCH:
        yield from _grep(lines)


def _blocks(lines: list[str]) -> Iterator[ToolView]:
    path: str | None = None
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r")
        at += 1
        if line.startswith("File: "):
            path = line.removeprefix("File: ").strip()
            yield ToolView(path)
        elif path and (match := _LINES.match(line)):
            start = int(match[1])
            end = int(match[2] or start)
            # A range that ends before it begins, or at line 0, is not believed.
            if 1 <= start <= end:
                yield ToolView(path, start, end)
            if at < len(lines) and (fence := _FENCE.match(lines[at])):
                # The number of lines is known from the heading, so a fence inside the code does not end the block early.
                behind = at + 2 + end - start
                is_end = behind < len(lines) and lines[behind].rstrip() == fence[1]
                at = behind + 1 if is_end else _after_fence(lines, at + 1, fence[1])
        elif fence := _FENCE.match(line):
            at = _after_fence(lines, at, fence[1])


def _after_fence(lines: list[str], at: int, fence: str) -> int:
    while at < len(lines) and lines[at].rstrip() != fence:
        at += 1
    return at + 1


def _grep(lines: list[str]) -> Iterator[ToolView]:
    """A path stands alone on the line before its first numbered line; other lines are headings or remarks."""
    path: str | None = None
    for at, line in enumerate(lines):
        if path and (match := _GREP_LINE.match(line)):
            number = int(match[1])
            if number > 0:
                yield ToolView(path, number, number)
        elif line == "--":
            continue
        elif flat := _GREP_FLAT.match(line):
            yield ToolView(flat[1], int(flat[2]), int(flat[2]))
        elif at + 1 < len(lines) and _GREP_LINE.match(lines[at + 1]) and line.strip():
            path = line.strip()
            yield ToolView(path)
        else:
            path = None


def _paths(value: object) -> Iterator[ToolView]:
    if isinstance(value, str) and value.strip():
        yield ToolView(value.strip())


def _number(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# A page has to show it. The case itself keeps ranges, never the text.
RESULT_LIMIT = 20_000


def evidence_of(flow: Flow, segment: Segment) -> dict[str, Any]:
    calls = [call_of(action) for action in segment.actions if tool_name(action)]
    suggested = [flow.description] if flow.description and flow.description.strip() else []
    change = change_of(segment).model_dump(mode="json", exclude_defaults=True)
    return {"diff": "", **change, "tool_calls": calls, "suggested_queries": suggested}


def call_of(action: Action) -> dict[str, Any]:
    return {
        "id": action.id,
        "name": action.type.removeprefix(TOOL_CALL),
        "arguments": action.params,
        "result": shorten(action.result or ""),
        "failed": action.error,
    }


def shorten(text: str) -> str:
    """A long result keeps its beginning and says how much is missing."""
    if len(text) <= RESULT_LIMIT:
        return text
    return f"{text[:RESULT_LIMIT]}\n… {len(text) - RESULT_LIMIT} more characters"


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
    change = change_of(segment)
    asked = (action.params.get("rankQuery") for action in segment.actions if action.type == "ranked_repo_summary")
    query = next((text for text in asked if isinstance(text, str) and text.strip()), "")
    base = prove(change, repo) if repo else BaseProof(None, ("no repository was given",))
    golden = golden_of(change)
    if base.files is not None:
        golden = replace(golden, files=base.files)
    paths, ranges, remarks = _rank(flow, segment, golden, rules)
    ranked = ranges.rank()
    if repo and base.commit and rules.side is Side.BASE:
        ranked = with_proof(ranked, repo, base.commit, RangeSource.GOLDEN_DIFF)
    metadata: dict[str, Any] = {}
    if base.commit:
        # The diff applies to the base commit and every golden line exists there; ranges of the new side are not at base.
        golden_ranges = [item for item in ranked if RangeSource.GOLDEN_DIFF in item.sources]
        metadata["baseVerified"] = rules.side is not Side.BASE or all(item.text_hash for item in golden_ranges)
    if not query and flow.description and flow.description.strip():
        metadata["suggestedQuery"] = flow.description
    case = Case(
        id=segment.case_id,
        dataset=DATASET,
        kind=CaseKind.CONTEXT,
        input=query,
        paths=paths.rank(),
        ranges=ranked,
        base_commit=base.commit,
        metadata=metadata,
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
    return Extracted(case, why_no_query, "; ".join(base.problems), tuple(remarks), evidence)


def _rank(flow: Flow, segment: Segment, golden: Golden, rules: Rules) -> tuple[PathRanking, RangeRanking, list[str]]:
    paths, ranges, remarks = PathRanking(), RangeRanking(), list[str]()
    paths.add_golden(golden.files)
    for file in golden.files:
        file_path = file.old_path if rules.side is Side.BASE else file.new_path
        for start, end in spans_of(file, rules.side, rules.context):
            ranges.add(file_path or file.path, start, end, RangeSource.GOLDEN_DIFF)
    folder = flow.metadata.get("working_directory")
    # The last action is the approval itself: its diff is the golden part already.
    for action in segment.actions[:-1]:
        looks = {"tool_call_args": seen_in_arguments(action), "tool_call_result": seen_in_result(action)}
        for source, seen_list in looks.items():
            for seen in seen_list:
                path = resolve_inside(seen.path, folder)
                if path is None:
                    remarks.append(f"{seen.path} lies outside the repository")
                    continue
                paths.add(path, PathSource(source))
                if seen.start is not None and seen.end is not None:
                    ranges.add(path, seen.start, seen.end, RangeSource(source))
        for shown_path in (path for shown in _other_diffs(action, remarks) for path in paths_of(shown)):
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
def resolve_inside(path: str, folder: str | None) -> str | None:
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
