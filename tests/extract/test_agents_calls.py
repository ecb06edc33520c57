"""Tool calls of agents as events: every name and shape a tool goes by, and nothing that its log may hold is an exception."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.extract.agents.calls import TOOLS, events_of, tool_of
from evergold.extract.agents.events import (
    WHOLE,
    Changed,
    Committed,
    FileRef,
    LineSpan,
    Looked,
    Moved,
    Patch,
    bare_paths,
    numbered_by_path,
    numbered_of_one,
    shown_by_path,
    shown_in_diff,
    text_lines,
)
from evergold.extract.agents.shell import shell_events
from evergold.model.flow import Action
from tests.rows import each_row

MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
REF = FileRef("src/f.py", "/w")


def a_call(tool: str, result: str | None = "", error: bool = False, details: Any = None, **params: Any) -> Action:
    return Action(
        id="a", type=f"tool_call.{tool}", params=params, result=result, error=error, created=MOMENT, cwd="/w",
        details=details or {},
    )  # fmt: skip


def events(tool: str, result: str | None = "", **more: Any) -> list[Any]:
    return list(events_of(a_call(tool, result, **more)))


@each_row(
    ("type", "name", "known"),
    [
        ("tool_call.Read", "read", True),
        ("tool_call.mcp__files__read_file", "read_file", True),
        ("tool_call.container.exec", "container.exec", True),
        ("tool_call.dance", "dance", False),
        ("user_request", "", False),
    ],
)
def test_a_tool_is_known_by_its_name_without_case_and_server(type: str, name: str, known: bool) -> None:
    action = Action(id="a", type=type, created=MOMENT)
    assert (tool_of(action), tool_of(action) in TOOLS) == (name, known)


@each_row("key", ["file_path", "path", "absolute_path", "filePath", "filename", "target_file"])
def test_a_path_is_read_under_every_key(key: str) -> None:
    assert events("read_file", "x\n", **{key: "src/f.py"}) == [Looked(REF, span=WHOLE, shown=["x"], asked=True)]


@each_row(
    ("params", "span"),
    [
        ({}, WHOLE),
        ({"offset": 10}, LineSpan(10, 0)),
        ({"offset": 10, "limit": 5}, LineSpan(10, 14)),
        ({"limit": 5}, LineSpan(1, 5)),
        ({"start_line": 3, "end_line": 9}, LineSpan(3, 9)),
        ({"startLine": "3", "endLine": "9"}, LineSpan(3, 9)),
        ({"offset": 3.0}, LineSpan(3, 0)),
        ({"offset": True, "limit": "many"}, WHOLE),
        ({"view_range": [4, 8]}, LineSpan(4, 8)),
        ({"view_range": [4, -1]}, LineSpan(4, 0)),
        ({"view_range": [4]}, WHOLE),
        ({"offset": -3}, LineSpan(1, 0)),
        ({"offset": "²"}, WHOLE),
    ],
)
def test_which_lines_a_read_asks_for(params: dict[str, Any], span: LineSpan) -> None:
    (look,) = events("read", "text\n", path="src/f.py", **params)
    assert look.span == span


def test_printed_numbers_are_believed_and_reminders_are_no_lines() -> None:
    shown = "     7→def f():\n     8→\treturn 1\n\n<system-reminder>\n     9→not a line\n</system-reminder>\n"
    (look,) = events("Read", shown, file_path="src/f.py", offset=1)
    assert look.numbered == {7: "def f():", 8: "\treturn 1"} and look.asked


@pytest.mark.parametrize("result", [None, ""])
def test_a_call_that_never_ended_or_failed_shows_nothing(result: str | None) -> None:
    assert events("read", None, path="f") == []
    assert events("read", result or "", error=True, path="f") == []
    assert events("read", "x") == []


def test_a_shell_that_failed_still_printed() -> None:
    (look,) = events("bash", "one\nExit code 1", error=True, command="cat f.py")
    assert look.ref == FileRef("f.py", "/w") and look.shown == ["one", "Exit code 1"]


@each_row(
    "command",
    ["cat f.py", ["bash", "-lc", "cat f.py"], ["cat", "f.py"], ["sh", "-c", "cat f.py"]],
)
def test_a_command_is_a_text_or_a_list_of_words(command: Any) -> None:
    (look,) = events("shell", "x", command=command)
    assert look.ref == FileRef("f.py", "/w")


def test_a_command_may_name_its_folder() -> None:
    (look,) = events("exec_command", "x", cmd="cat f.py", workdir="/elsewhere")
    assert look.ref == FileRef("f.py", "/elsewhere")
    assert events("bash", "x", command=5) == []


def test_edits_carry_texts_patches_and_the_file_before() -> None:
    hunk = {"oldStart": 3, "lines": [" a", "-b", "+c", "+d", " e", "-f"]}
    details = {"structuredPatch": [hunk], "originalFile": "a\nb\n"}
    (change,) = events("Edit", "ok", details=details, file_path="src/f.py", old_string="b", new_string="c\nd")
    assert isinstance(change, Changed) and change.before == "a\nb\n"
    assert change.patches == (Patch(6, 1, []), Patch(4, 1, ["c", "d"]))
    assert change.replacements[0].old == "b" and change.written_lines() == ["c", "d"]


def test_several_edits_in_one_call_and_what_is_none() -> None:
    edits = [{"old_string": "a", "new_string": "b", "replace_all": True}, {"new_string": "x"}, "nonsense"]
    (change,) = events("multiedit", "ok", file_path="src/f.py", edits=edits)
    assert [(one.old, one.new, one.everywhere) for one in change.replacements] == [("a", "b", True)]


@each_row(
    ("params", "expected"),
    [
        ({"command": "view"}, Looked(REF, span=WHOLE, shown=["x"], asked=True)),
        ({"command": "create", "file_text": "a\n"}, Changed(REF, after="a\n")),
        ({"command": "insert", "insert_line": 2, "new_str": "a\nb"}, Changed(REF, patches=(Patch(3, 0, ["a", "b"]),))),
    ],
)
def test_an_editor_does_what_its_command_says(params: dict[str, Any], expected: Any) -> None:
    assert events("str_replace_editor", "x\n", path="src/f.py", **params) == [expected]


def test_a_write_without_content_is_a_change_nobody_saw() -> None:
    assert events("write", "ok", path="src/f.py", content=None) == [Changed(REF)]
    assert events("write_file", "ok", path="src/f.py", content="a\n") == [Changed(REF, after="a\n")]


@each_row(
    ("mode", "output", "expected"),
    [
        (None, "src/f.py\nsrc/g.py\n", [Looked(REF), Looked(FileRef("src/g.py", "/w"))]),
        ("count", "src/f.py:3\n", []),
        ("content", "src/f.py:3:text\n", [Looked(REF, numbered={3: "text"})]),
        ("content", "3:text\n5-more\n", [Looked(REF, numbered={3: "text", 5: "more"})]),
        ("content", "src/f.py:text only\n", [Looked(REF, shown=["text only"])]),
    ],
)
def test_a_search_shows_names_or_lines(mode: str | None, output: str, expected: list[Any]) -> None:
    assert events("Grep", output, path="src/f.py", **({"output_mode": mode} if mode else {})) == expected


def test_other_search_tools_show_whatever_their_output_is() -> None:
    assert events("codebase_search", "src/f.py:3:text\n") == [Looked(REF, numbered={3: "text"})]
    assert events("codebase_search", "src/f.py\n") == [Looked(REF)]
    assert events("lsp", "definition at 3", filePath="src/f.py") == [Looked(REF, asked=True)]


def test_an_envelope_in_a_tool_of_its_own() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/f.py\n*** Move to: src/g.py\n@@ def f\n-a\n+b\n\n c\n*** End of File\n"
        "*** Add File: src/h.py\n+new\n*** Delete File: old.py\n*** End Patch"
    )
    moved, changed, added, deleted = events("apply_patch", "Done", input=patch)
    assert moved == Moved(REF, FileRef("src/g.py", "/w"))
    assert changed.replacements[0][:2] == ("a\n\nc", "b\n\nc") and changed.replacements[0].hint == "def f"
    assert added == Changed(FileRef("src/h.py", "/w"), after="new\n") and deleted == Changed(FileRef("old.py", "/w"))
    assert events("apply_patch", "Done", input="no envelope") == []


@each_row(
    ("output", "expected"),
    [
        (["src/f.py-3-context", "src/f.py:4:match", "--", "src/f.py:9:more"], {3: "context", 4: "match", 9: "more"}),
        (["src/f.py", "3:match", "4-context", "--", "9:more"], {3: "match", 4: "context", 9: "more"}),
        (["src/f.py:0:nothing"], None),
        (["a remark", "src/f.py: not a number"], None),
    ],
)
def test_numbered_lines_of_grep_in_all_its_shapes(output: list[str], expected: dict[int, str] | None) -> None:
    looks = list(numbered_by_path(output, "/w"))
    assert [look.numbered for look in looks] == ([expected] if expected else [])


def test_a_dash_in_a_path_is_not_where_a_context_line_is_cut() -> None:
    (look,) = numbered_by_path(["src/my-2-file.py-17-text-3-4"], "/w")
    assert (look.ref.path, look.numbered) == ("src/my-2-file.py", {17: "text-3-4"})


def test_the_new_side_of_a_printed_diff_was_shown() -> None:
    diff = (
        "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1,3 +5,4 @@ def f\n a\n-b\n+c\n+++ d\n e\n"
        "diff --git a/g.py b/g.py\n--- a/g.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        'diff --git "a/\\303\\251" "b/\\303\\251"\n--- "a/\\303\\251"\n+++ "b/\\303\\251"\n@@ -0,0 +1 @@\n+x\n'
    )
    looks = list(shown_in_diff(text_lines(diff)))
    assert [(look.ref.path, look.numbered) for look in looks] == [
        ("f.py", {5: "a", 6: "c", 7: "++ d", 8: "e"}),
        ("é", {1: "x"}),
    ]


DIGITS = "9" * 5000  # more than Python turns into a number
ODD = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            f"{DIGITS}\tx",
            f"{DIGITS}:x",
            f"f.py:{DIGITS}:x",
            "²\tx",
            "f.py:²:x",
            "٣\tx",
            "\0",
            "--",
            "@@ -1 +9 @@",
            "\\ no",
        ]
    ),
)
OUTPUT = st.lists(ODD, max_size=6).map("\n".join)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["cat -n f", "sed -n '1,5p' f", "grep -n x f.py", "rg x", "git diff", "git commit -m x", "nl f"]),
    OUTPUT,
)
def test_no_output_of_a_shell_is_an_exception(script: str, output: str) -> None:
    for event in shell_events(script, output, "/w"):
        assert isinstance(event, Looked | Changed | Moved | Committed)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(["read", "grep", "glob", "edit", "codebase_search", "apply_patch"]), OUTPUT, ODD)
def test_no_result_of_a_tool_is_an_exception(tool: str, output: str, value: str) -> None:
    params = {"path": "f.py", "offset": value, "limit": value, "output_mode": "content", "input": value}
    assert all(isinstance(event, Looked | Changed | Moved) for event in events(tool, output, **params))


@settings(max_examples=80, deadline=None)
@given(st.lists(ODD, max_size=6))
def test_no_line_of_grep_is_an_exception(output: list[str]) -> None:
    for read in (numbered_by_path, shown_by_path, bare_paths):
        assert all(look.ref.path for look in read(output, None))
    assert len(list(numbered_of_one(output, REF))) <= 1


@each_row("script", [f"sed -n '{DIGITS},5p' f", f"head -n {DIGITS} f", f"awk 'NR<{DIGITS}' f", "tail -n ² f"])
def test_a_number_too_large_or_odd_in_a_script_is_no_exception(script: str) -> None:
    assert [event.ref.path for event in shell_events(script, "x", None) if isinstance(event, Looked)] in (["f"], [])
