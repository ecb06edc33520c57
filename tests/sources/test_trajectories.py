"""Logs of agents become traces: the same small task in each kind of log, whole or turn by turn."""

import json
from typing import Any

from evergold.conversation import conversation_of
from evergold.model.trace import Trace
from evergold.sources.agents.trajectories import AgentLogs
from tests.rows import each_row

AT = "2026-01-01T00:00:0{}Z"
ARGUMENTS = {"command": "ls"}
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "List the files."},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": json.dumps(ARGUMENTS)}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "assistant", "content": "There is a.py."},
    {"role": "user", "content": "Thanks. More?"},
    {"role": "assistant", "content": "No."},
]


def claude(number: int, kind: str, content: Any, **message: Any) -> dict[str, Any]:
    event = {"type": kind, "sessionId": "s1", "uuid": f"u{number}", "parentUuid": None, "timestamp": AT.format(number)}
    return {**event, "message": {"role": kind, "content": content, **message}}


CLAUDE_CODE = [
    {"type": "summary", "summary": "x", "leafUuid": "u1"},
    claude(1, "user", "List the files."),
    claude(2, "assistant", [{"type": "text", "text": "I look."}], id="m1", model="claude-x"),
    claude(3, "assistant", [{"type": "tool_use", "id": "c1", "name": "bash", "input": ARGUMENTS}], id="m1"),
    claude(4, "user", [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}]),
    claude(5, "assistant", [{"type": "text", "text": "There is a.py."}], id="m2"),
    claude(6, "user", "Thanks. More?"),
    claude(7, "assistant", [{"type": "text", "text": "No."}], id="m3"),
]


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT.format(1), "type": "response_item", "payload": {"type": kind, **payload}}


def codex_text(role: str, text: str) -> dict[str, Any]:
    return codex(
        "message", role=role, content=[{"type": "input_text" if role == "user" else "output_text", "text": text}]
    )


CODEX = [
    {"timestamp": AT.format(0), "type": "session_meta", "payload": {"id": "s1"}},
    codex_text("user", "List the files."),
    codex_text("assistant", "I look."),
    codex("function_call", name="bash", arguments=json.dumps(ARGUMENTS), call_id="c1"),
    codex("function_call_output", call_id="c1", output="a.py"),
    codex_text("assistant", "There is a.py."),
    codex_text("user", "Thanks. More?"),
    codex_text("assistant", "No."),
]
ATIF = {
    "schema_version": "ATIF-v1.4",
    "session_id": "s1",
    "agent": {"name": "harbor-agent", "model_name": "m"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "List the files.", "timestamp": AT.format(1)},
        {
            "step_id": 2,
            "source": "agent",
            "message": "I look.",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": ARGUMENTS}],
            "observation": {"results": [{"source_call_id": "c1", "content": "a.py"}]},
        },
        {"step_id": 3, "source": "agent", "message": "There is a.py."},
        {"step_id": 4, "source": "user", "message": "Thanks. More?"},
        {"step_id": 5, "source": "agent", "message": "No."},
    ],
    "extra": {"reward": 1.0},
}
CALL_OF = {"tool_call_id": "c1", "function_name": "bash"}
OPENHANDS = {
    "instance_id": "i1",
    "history": [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "List the files."}},
        {
            "id": 1,
            "source": "agent",
            "action": "run",
            "args": {**ARGUMENTS, "thought": "I look."},
            "tool_call_metadata": CALL_OF,
        },
        {
            "id": 2,
            "source": "agent",
            "observation": "run",
            "cause": 1,
            "content": "a.py",
            "tool_call_metadata": CALL_OF,
        },
        {"id": 3, "source": "agent", "action": "message", "args": {"content": "There is a.py."}},
        {"id": 4, "source": "user", "action": "message", "args": {"content": "Thanks. More?"}},
        {"id": 5, "source": "agent", "action": "finish", "args": {"final_thought": "No."}},
    ],
    "test_result": {"report": {"resolved": True}},
}
LOGS: dict[str, list[Any]] = {
    "claude code": CLAUDE_CODE,
    "codex": CODEX,
    "atif": [ATIF],
    "openhands": [OPENHANDS],
    "swe-agent": [
        {"trajectory": [{"action": "ls", "observation": "a.py"}], "history": CHAT, "info": {"resolved": True}}
    ],
    "tau-bench": [[{"task_id": 0, "trial": 1, "reward": 1.0, "traj": CHAT, "info": {}}]],
}


def lines(name: str) -> list[bytes]:
    return [json.dumps(item).encode() + b"\n" for item in LOGS[name]]


def read(name: str, unit: str = "task") -> list[Trace]:
    source = AgentLogs(unit)
    assert source.accepts(b"".join(lines(name)))
    found = list(source.read(lines(name), "log.jsonl"))
    assert all(isinstance(one, Trace) for one in found), found
    return [one for one in found if isinstance(one, Trace)]


def plain(message: dict[str, Any]) -> tuple[Any, ...]:
    calls = [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message.get("tool_calls", ())]
    return message["role"], message["content"], calls


@each_row("name", LOGS)
def test_a_task_is_one_trace_with_the_whole_conversation(name: str) -> None:
    (trace,) = read(name)
    assert (trace.input, trace.output) == ("List the files.", "No.")
    found = conversation_of(trace)
    assert [plain(message) for message in (*found.messages, *found.turn)] == [plain(message) for message in CHAT]
    assert found.problems == ()
    assert [span.name for span in trace.spans if span.kind == "tool"] == ["bash"]
    if name not in ("claude code", "codex"):
        assert [(score.name, score.value) for score in trace.scores] == [("reward", 1.0)]


@each_row("name", LOGS)
def test_a_turn_is_a_trace_that_continues_its_session(name: str) -> None:
    first, second = read(name, "turn")
    assert (first.session_id, first.scores) == (second.session_id, ())
    assert (first.input, first.output) == ("List the files.", "There is a.py.")
    found = conversation_of(second, lambda _: [first])
    assert [plain(message) for message in (*found.messages, *found.turn)] == [plain(message) for message in CHAT]
