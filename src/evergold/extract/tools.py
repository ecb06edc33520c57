"""Read requests and results of context tools: the files and lines an agent looked at.

Three tools, each under the names and argument keys it has had. Results are read as text: blocks of `File:`, `Lines:` and
fenced code, or the output of `git grep --heading`. Code inside a fence is never taken for a heading.

Evidence beside a case for reviewers: the approved diff, and the output of the agent's context tools.

It travels in `extra["evidence"]` of a stored case, in the shape the review page reads; never in the rows of the files.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from evergold.extract.golden import Segment
from evergold.model.flow import Action, Flow

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
        for request in _objects(params.get("requests") or params.get("code_context_requests")):
            yield from _paths(request.get("file_path"))
    elif name == _READ:
        window = _number(params.get("window_size")) or 0
        for item in _objects(params.get("file_lines")):
            line = _number(item.get("line_number"))
            for seen in _paths(item.get("file_path")):
                yield seen if line is None else ToolView(seen.path, max(1, line - window), max(1, line + window))
    elif name == _SEARCH:
        for search in _objects(params.get("searches")):
            yield from _paths(_literal(search.get("path_glob")))


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
            at = _after_code(lines, at, end - start + 1)
        elif fence := _FENCE.match(line):
            at = _after_fence(lines, at, fence[1])


def _after_code(lines: list[str], at: int, count: int) -> int:
    """The line after a fenced block of `count` lines: counted, because the code may contain fences itself."""
    if at >= len(lines) or not (fence := _FENCE.match(lines[at])):
        return at
    # The number of lines is known from the heading, so a fence inside the code does not end the block early.
    end = at + 1 + count
    if end < len(lines) and lines[end].rstrip() == fence[1]:
        return end + 1
    return _after_fence(lines, at + 1, fence[1])


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


def _literal(glob: object) -> str | None:
    """A glob that names one file; a pattern or a folder names none."""
    # A last part without a dot is a folder, and `..` or `.` is no file either.
    if not isinstance(glob, str) or _GLOB.search(glob) or "." not in glob.rsplit("/", 1)[-1].strip("."):
        return None
    return glob


def _paths(value: object) -> Iterator[ToolView]:
    if isinstance(value, str) and value.strip():
        yield ToolView(value.strip())


def _objects(value: object) -> Iterable[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# A page has to show it. The case itself keeps ranges, never the text.
RESULT_LIMIT = 20_000


def evidence_of(flow: Flow, segment: Segment) -> dict[str, Any]:
    calls = [call_of(action) for action in segment.actions if tool_name(action)]
    # In a later case of a flow the whole diff repeats the earlier cases.
    shown = segment.approval.since_last_review if segment.earlier else ""
    suggested = [flow.description] if flow.description and flow.description.strip() else []
    return {"diff": shown or segment.approval.diff, "tool_calls": calls, "suggested_queries": suggested}


def call_of(action: Action) -> dict[str, Any]:
    return {
        "id": action.id,
        "name": action.type.removeprefix(TOOL_CALL),
        "arguments": action.params,
        "result": shortened(action.result or ""),
        "failed": action.error,
    }


def shortened(text: str) -> str:
    """A long result keeps its beginning and says how much is missing."""
    if len(text) <= RESULT_LIMIT:
        return text
    return f"{text[:RESULT_LIMIT]}\n… {len(text) - RESULT_LIMIT} more characters"
