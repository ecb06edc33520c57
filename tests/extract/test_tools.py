"""What the context tools were asked and what they showed."""

from datetime import UTC, datetime
from typing import Any

import pytest

from evergold.extract.flow_cases import ToolView, seen_in_arguments, seen_in_result, tool_name
from evergold.model.flow import Action

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def call(name: str, params: dict[str, Any] | None = None, result: str | None = None, error: bool = False) -> Action:
    return Action(id="a", type=f"tool_call.{name}", params=params or {}, result=result, error=error, created=NOW)


@pytest.mark.parametrize(
    ("name", "key"), [("get_symbol_definitions", "requests"), ("retrieve_code_context", "code_context_requests")]
)
def test_symbol_requests_name_files_under_both_names(name: str, key: str) -> None:
    action = call(
        name, {key: [{"file_path": "a.go", "symbol_names": ["X"]}, {"file_path": "b.go"}, {"file_path": 3}, "odd"]}
    )
    assert list(seen_in_arguments(action)) == [ToolView("a.go"), ToolView("b.go")]


def test_lines_read_are_a_window_around_each() -> None:
    lines = [
        {"file_path": "a.go", "line_number": 10},
        {"file_path": "a.go", "line_number": 2},
        {"file_path": "b.go", "line_number": 7.0},
    ]
    assert list(seen_in_arguments(call("read_file_lines", {"file_lines": lines, "window_size": 3}))) == [
        ToolView("a.go", 7, 13),
        ToolView("a.go", 1, 5),
        ToolView("b.go", 4, 10),
    ]
    assert list(seen_in_arguments(call("read_file_lines", {"file_lines": lines[:1], "window_size": 0}))) == [
        ToolView("a.go", 10, 10)
    ]


def test_a_search_names_a_file_only_when_its_glob_is_one() -> None:
    globs = ["src/a.py", "*.py", "src/**", "src", "src/", ".", "a[bc].py"]
    action = call("bulk_search_repository", {"searches": [{"path_glob": glob, "search_term": "x"} for glob in globs]})
    assert list(seen_in_arguments(action)) == [ToolView("src/a.py")]


def test_blocks_of_code_give_ranges_and_what_is_inside_them_does_not() -> None:
    text = (
        "File: docs/guide.md\nLines: 3-7\n```markdown\nFile: fake.go\nLines: 1-2\n```go\nx\n```\n```\n\n"
        "File: a.go\nSymbol(s): Run, Stop\nLines: 10-12\n```go\nfunc Run() {\n}\n\n```\nLines: 20-20\n```go\nvar x\n```\n"
        "File: c d.go\nLines: 5-5\n```\ny\n```\nFile: nothing.go\nNo such symbol\n"
    )
    assert list(seen_in_result(call("get_symbol_definitions", result=text))) == [
        ToolView("docs/guide.md"),
        ToolView("docs/guide.md", 3, 7),
        ToolView("a.go"),
        ToolView("a.go", 10, 12),
        ToolView("a.go", 20, 20),
        ToolView("c d.go"),
        ToolView("c d.go", 5, 5),
        ToolView("nothing.go"),
    ]


def test_a_block_whose_count_is_wrong_ends_at_its_fence() -> None:
    text = "File: a.go\nLines: 1-9\n```go\nonly\n```\nFile: b.go\nLines: 2-2\n```go\nx\n```\n"
    assert list(seen_in_result(call("read_file_lines", result=text)))[-1] == ToolView("b.go", 2, 2)


def test_search_results_with_headings() -> None:
    text = (
        'Searched for "Run" in "*.go"\nsrc/a b.go\n9=func main() {\n11-before\n12:Run()\n13-after\n--\n40:Run(x)\n'
        'src/c.go\n7:Run: 12: odd\n\nSearched for "none"\nNo results\n... (truncated)\n'
    )
    assert list(seen_in_result(call("bulk_search_repository", result=text))) == [
        ToolView("src/a b.go"),
        *[ToolView("src/a b.go", line, line) for line in (9, 11, 12, 13, 40)],
        ToolView("src/c.go"),
        ToolView("src/c.go", 7, 7),
    ]


def test_search_results_in_one_line_each() -> None:
    text = "Searched\nsrc/a.go:12:Run()\nsrc/b.go:3:x: y\nnote: 12: none\n"
    assert list(seen_in_result(call("bulk_search_repository", result=text))) == [
        ToolView("src/a.go", 12, 12),
        ToolView("src/b.go", 3, 3),
    ]


def test_errors_and_other_tools_show_nothing() -> None:
    text = "File: a.go\nLines: 1-2\n"
    assert list(seen_in_result(call("get_symbol_definitions", result=text, error=True))) == []
    assert list(seen_in_result(call("run_command", result=text))) == []
    assert tool_name(call("run_command")) is None
