"""Logs of coding agents as flows: broken lines and odd values cost themselves alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold.model.flow import Flow
from evergold.sources.agents.atif import read_trajectory
from evergold.sources.agents.claude_code import folder_name, read_session
from evergold.sources.agents.codex import output_text, read_rollouts
from evergold.sources.agents.log_lines import (
    EPOCH,
    SHOWN_PROBLEMS,
    moment,
    request_in,
    request_in_refusal,
    text_of_blocks,
)
from tests.mutations import mutations
from tests.rows import each_row

AT = "2026-01-01T00:00:00Z"
CLAUDE: list[Any] = [
    {
        "type": "user",
        "uuid": "1",
        "sessionId": "s",
        "cwd": "/x",
        "timestamp": AT,
        "message": {"content": "Fix the bug please"},
    },
    {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "id": "c1", "name": "Edit", "input": {"a": 1}}]},
    },
    {
        "type": "user",
        "toolUseResult": {"filePath": "x"},
        "message": {
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]}]
        },
    },
    {"type": "queue-operation", "operation": "enqueue", "content": "also this please", "timestamp": AT},
    {"type": "summary", "summary": "Bug"},
]
CODEX: list[Any] = [
    {
        "timestamp": AT,
        "type": "session_meta",
        "payload": {"id": "i", "session_id": "s", "cwd": "/x", "git": {"branch": "b"}},
    },
    {
        "timestamp": AT,
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": "do it now please"},
    },
    {
        "timestamp": AT,
        "type": "response_item",
        "payload": {"type": "function_call", "call_id": "c", "arguments": '{"a":1}'},
    },
    {
        "timestamp": AT,
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c", "output": "x"},
    },
    {"timestamp": AT, "type": "event_msg", "payload": {"type": "patch_apply_end", "success": False, "call_id": "c"}},
]
ATIF = {
    "schema_version": "ATIF-v1.2",
    "session_id": "s",
    "agent": {"name": "a", "extra": {"cwd": "/x", "git_branch": "b"}},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Fix the bug please", "timestamp": AT},
        {
            "step_id": 2,
            "source": "agent",
            "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {"x": 1}}],
            "observation": {"results": [{"source_call_id": "c", "content": "done"}]},
        },
    ],
    "subagent_trajectories": [{"steps": [{"source": "agent", "tool_calls": [{"function_name": "g"}]}]}],
}


def lines(path: Path, events: list[Any]) -> Path:
    path.write_text("\n".join(json.dumps(event) for event in events))
    return path


def steps(flow: Flow) -> list[str]:
    return [action.type for action in flow.actions]


def test_a_session_of_claude_code(tmp_path: Path) -> None:
    flow = read_session([lines(tmp_path / "s.jsonl", CLAUDE)])
    assert sorted(steps(flow)) == ["tool_call.Edit", "user_request", "user_request"]
    edit = next(action for action in flow.actions if action.type == "tool_call.Edit")
    assert (edit.status, edit.result, edit.details, flow.title, flow.repo_dir) == (
        "complete",
        "ok",
        {"filePath": "x"},
        "Bug",
        "/x",
    )


def test_a_session_of_codex(tmp_path: Path) -> None:
    flow = read_rollouts([lines(tmp_path / "s.jsonl", CODEX)])
    assert sorted(steps(flow)) == ["tool_call.local_shell", "user_request"]
    assert (flow.id, flow.branch, flow.repo_dir) == ("i", "b", "/x")
    assert next(action for action in flow.actions if action.type != "user_request").error


def test_a_trajectory_of_the_interchange_format(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(ATIF))
    flow = read_trajectory(path)
    assert steps(flow).count("user_request") == 1 and sum(action.sidechain for action in flow.actions) == 1
    assert next(action for action in flow.actions if action.type == "tool_call.f").result == "done"


@pytest.mark.parametrize("change", range(3))
def test_one_odd_value_never_raises(tmp_path: Path, change: int) -> None:
    path = tmp_path / "log"
    if change == 2:
        for document in mutations(ATIF):
            path.write_text(json.dumps(document))
            assert isinstance(read_trajectory(path), Flow)
        return
    path = path.with_suffix(".jsonl")
    for events in mutations((CLAUDE, CODEX)[change]):
        lines(path, events)
        flow = read_session([path]) if change == 0 else read_rollouts([path])
        assert isinstance(flow.metadata["problems"], list)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not a whole JSON document"),
        ("[]", "no trajectory"),
        ('{"steps": []}', "schema_version is None"),
        ('{"steps": [], "schema_version": "ATIF-v2.0"}', "schema_version is 'ATIF-v2.0'"),
    ],
)
def test_a_document_that_is_no_trajectory_says_why(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "t.json").write_text(text)
    flow = read_trajectory(tmp_path / "t.json")
    assert flow.actions == () and problem in flow.metadata["problems"][0]


def test_broken_lines_are_counted_and_the_first_of_them_named(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join([json.dumps(CLAUDE[0]), *["{broken"] * (SHOWN_PROBLEMS + 3)]))
    problems = read_session([path]).metadata["problems"]
    assert len(problems) == SHOWN_PROBLEMS + 1 and "3 more lines are no JSON objects" in problems[-1]
    path.write_text("{broken\nagain")
    assert "none of its 2 lines is a JSON object" in read_session([path]).metadata["problems"][0]


def test_a_line_that_two_files_repeat_counts_once(tmp_path: Path) -> None:
    both = [lines(tmp_path / name, CLAUDE) for name in ("a.jsonl", "b.jsonl")]
    assert len(read_session(both).actions) == len(read_session(both[:1]).actions)


@each_row(
    ("text", "request_text"),
    [
        ("Fix the bug please", "Fix the bug please"),
        ("<system-reminder>be nice</system-reminder>Fix it", "Fix it"),
        ("<system-reminder>never closed", "<system-reminder>never closed"),
        ("/clear", None),
        ("/review this pull request", "/review this pull request"),
        ("<command-name>/fix</command-name><command-args>the login page now</command-args>", "the login page now"),
        ("<command-name>/model</command-name><command-args>opus</command-args>", None),
        ("[Request interrupted by user]", None),
        ("This session is being continued from a previous conversation that ran out", None),
        ("   ", None),
    ],
)
def test_what_a_person_asked(text: str, request_text: str | None) -> None:
    assert request_in(text) == request_text


def test_a_refused_call_may_hold_a_request() -> None:
    refused = (
        "The user doesn't want to proceed. the user said:\nuse the other file\n\nNote: The user's next message may"
    )
    assert request_in_refusal(refused) == "use the other file"
    assert request_in_refusal("The user doesn't want to proceed.") is None and request_in_refusal("ok") is None


@each_row(
    ("output", "text", "failed"),
    [
        ("plain", "plain", False),
        ('{"output": "x", "metadata": {"exit_code": 0}}', "x", False),
        ('{"output": "x", "metadata": {"exit_code": 2}}', "x", True),
        ('{"other": 1}', '{"other": 1}', False),
        ("{not json", "{not json", False),
        ("Exit code: 1\nWall time: 2 s\nOutput:\nboom", "boom", True),
        ("Process exited with code 0\nOutput:\nfine", "fine", False),
        ({"content": [{"type": "text", "text": "a"}]}, "a", False),
        (None, "", False),
    ],
)
def test_the_output_of_a_tool_without_its_heading(output: Any, text: str, failed: bool) -> None:
    assert output_text(output) == (text, failed)


@each_row(
    ("content", "text"),
    [("x", "x"), (["a", {"text": "b"}, {"type": "image"}, 5], "a\nb"), (None, ""), ({"text": "x"}, "")],
)
def test_the_text_of_blocks(content: Any, text: str) -> None:
    assert text_of_blocks(content) == text


@each_row("value", [None, 5, "yesterday", ""])
def test_a_time_that_cannot_be_read_is_that_of_the_event_before(value: Any) -> None:
    later = moment(AT)
    assert moment(value, later) == later and moment(value) == EPOCH
    assert moment("2026-01-01T00:00:00") == later, "a time without a zone is UTC"


def test_the_folder_of_a_project_has_dashes_for_every_other_sign() -> None:
    assert folder_name(Path("/home/jo.do/my_app")) == "-home-jo-do-my-app"
