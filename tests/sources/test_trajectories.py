"""Logs of agents become traces: the same small task in each kind of log, whole or turn by turn."""

import json
from typing import Any

from evergold.conversation import conversation_of
from evergold.model.faults import Rejected
from evergold.model.trace import Trace
from evergold.sources.agents.layouts import reward_in
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


def test_results_of_simulations_hold_their_rewards_times_and_costs() -> None:
    times = {"start_time": AT.format(1), "end_time": AT.format(9), "agent_cost": 0.5}
    spoken = [message | {"timestamp": AT.format(2 + at)} for at, message in enumerate(CHAT)]
    runs = [{"id": str(at), "messages": spoken, "reward_info": {"reward": at}, **times} for at in range(2)]
    document = json.dumps({"info": {"llm": "m"}, "tasks": [{"id": "0"}], "simulations": runs}, indent=2).encode()
    assert AgentLogs().accepts(document)
    *traces, note = AgentLogs().read(document.splitlines(keepends=True), "results.json")
    assert str(note) == "results.json: 2 runs are read; what stands beside them is not: info (1), tasks (1)"
    assert isinstance(note, Rejected) and note.is_note
    for value, trace in enumerate(traces):
        assert isinstance(trace, Trace) and (trace.input, trace.output, trace.cost) == ("List the files.", "No.", 0.5)
        assert [score.value for score in trace.scores] == [value] and trace.started_at and trace.ended_at
        assert (trace.started_at.second, trace.ended_at.second) == (1, 9)


@each_row(
    ("stated", "reward"),
    [
        ({"evaluation": {"final": {"reward": 1.0}}}, 1.0),
        ({"outcome": {"value": 0.5}}, 0.5),
        ({"final_reward": 0}, 0.0),
        ({"task_success": True}, 1.0),
        ({"reward": {"total": 1}}, 1.0),
        ({"metrics": {"tokens": 900}}, None),
        ({"config": {"reward": 1.0}}, None),
        ({"overall_score": 73}, None),
    ],
)
def test_a_reward_is_found_under_other_names_and_nestings(stated: dict[str, Any], reward: float | None) -> None:
    assert reward_in({"task_id": "t", "transcript": CHAT, **stated}) == reward


STEPS = [{"thought": "I look.", "action": "ls", "observation": "a.py"}, {"thought": "Done.", "action": "finish[a.py]"}]
SHELL = [("system", "A shell."), ("user", "Find it."), ("assistant", "```ls```"), ("user", "Wrong flag!")]
SPOKEN = [{"role": role, "content": text} for role, text in (*SHELL, ("assistant", "```x```"), ("user", "TIMED OUT"))]
TEXTS: dict[str, tuple[Any, str, str]] = {
    "thoughts and actions": ({"question": "Find it.", "trajectory": STEPS, "answer": "a.py"}, "Find it.", "a.py"),
    "commands and what they print": ({"messages": SPOKEN}, "Find it.", "```x```"),
    "by who speaks": (
        {"conversations": [{"from": "human", "value": "Find it."}, {"from": "gpt", "value": "Here."}]},
        "Find it.",
        "Here.",
    ),
    "with words before the task": (
        {"conversations": [{"from": "human", "value": "New task:\nFind it."}, {"from": "gpt", "value": "Here."}]},
        "Find it.",
        "Here.",
    ),
    "of a corpus of dialogues": (
        {"turns": [{"speaker": "USER", "utterance": "Find it."}, {"speaker": "SYSTEM", "utterance": "Here."}]},
        "Find it.",
        "Here.",
    ),
    "in an object of its state": (
        {
            "state": {
                "history": [{"role": "user", "content": "Use tools.\nTask:\nFind it.\n"}, CHAT[-1]],
                "success": True,
            },
            "task": {"task_id": 0, "prompt": "Find it."},
        },
        "Find it.",
        "No.",
    ),
    "in an object of results": ({"results": {"t": {"messages": CHAT[:4]}}}, "List the files.", "There is a.py."),
}


@each_row("name", TEXTS)
def test_the_task_of_a_text_trajectory_is_its_question(name: str) -> None:
    document, question, answer = TEXTS[name]
    line = json.dumps(document).encode()
    assert AgentLogs().accepts(line)
    traces = [one for one in AgentLogs().read([line], "log.jsonl") if isinstance(one, Trace)]
    assert [(trace.input, trace.output) for trace in traces] == [(question, answer)]


def test_runs_of_one_task_by_two_models_are_two_traces() -> None:
    lines = [json.dumps({"task_id": 0, "messages": [CHAT[0], CHAT[at]], "reward": 1}).encode() for at in (3, 5)]
    ids = [[one.id for one in AgentLogs().read([line], "results.jsonl") if isinstance(one, Trace)] for line in lines]
    assert len({*ids[0], *ids[1]}) == 2


def test_a_call_may_name_its_function_by_a_text_and_its_run_end_with_an_error() -> None:
    call = {"function": "bash", "args": ARGUMENTS, "id": "c1"}
    asked = {"role": "user", "content": [{"type": "text", "content": "List the files."}]}
    made = [asked, {"role": "assistant", "content": None, "tool_calls": [call]}, CHAT[2], CHAT[3]]
    runs = [
        {"run_id": "a", "messages": made, "evaluation": {"utility": False}, "error": None},
        {"run_id": "b", "messages": made[:1], "evaluation": {"utility": False}, "error": "503"},
    ]
    text = json.dumps(runs[0], indent=2).encode()
    assert AgentLogs().accepts(text)
    first, second = (one for run in runs for one in AgentLogs().read([json.dumps(run).encode()], "run.json"))
    assert isinstance(first, Trace) and isinstance(second, Trace)
    turn = conversation_of(first).turn
    assert [call["function"]["name"] for one in turn for call in one.get("tool_calls", ())] == ["bash"]
    assert (first.input, first.scores[0].value, first.status) == ("List the files.", 0.0, "completed")
    assert second.status == "failed"


def traces_of(document: Any) -> list[Trace]:
    read = list(AgentLogs().read([json.dumps(document).encode()], "runs.json"))
    return [one for one in read if isinstance(one, Trace)]


def test_a_run_that_states_its_system_prompt_beside_its_messages_is_no_message() -> None:
    run = {
        "run_id": "t14_1",
        "system_prompt": "You help.",
        "user_prompt": "List.",
        "messages": CHAT[:4],
        "evaluation": {"utility": True},
    }
    (trace,) = traces_of(run)
    assert (trace.id, trace.input, trace.output) == ("agent:t14_1", "List the files.", "There is a.py.")


def test_a_log_that_a_proxy_kept_has_its_roles_turned() -> None:
    task = ["How many apples are left of 12, if 5 are eaten?"]
    said = [
        {"role": "assistant", "name": "proxy", "content": ["Solve with Python.", "", "Problem:", *task]},
        {"role": "user", "name": "assistant", "content": ["print(12 - 5)", "gives 7, so 7 are left."]},
    ]
    run = {"instance_id": "a", "problem_statement": task, "other_data": {"correct": True, "answer": "7"}}
    (trace,) = traces_of({**run, "trajectory": said})
    assert (trace.input, trace.output) == (task[0], "print(12 - 5)\ngives 7, so 7 are left.")
    assert [score.value for score in trace.scores] == [1.0]


def test_agents_that_speak_under_their_names_are_the_assistant() -> None:
    task = "Which river flows through Cuenca?"
    said = [
        {
            "role": "user",
            "name": "planner",
            "content": f"Work in a team.\n# Task\n{task} Think first.\n# Plan\nSearch.",
        },
        {"role": "user", "name": "terminal", "content": "exitcode: 0"},
        {"role": "assistant", "name": "geographer", "content": "The Júcar flows through Cuenca."},
        {"role": "assistant", "name": "checker", "content": "TERMINATE"},
    ]
    (trace,) = traces_of({"is_correct": False, "question": task, "history": said})
    assert (trace.input, trace.output) == (task, "The Júcar flows through Cuenca.")
    roles = [message["role"] for message in trace.metadata["messages"]]
    assert roles == ["user", "assistant", "assistant", "assistant"]
    named = [{"role": "human", "content": task}, {"role": "Searcher (-> Web)", "content": "It is the Júcar."}]
    (trace,) = traces_of({"history": named, "question": task})
    assert (trace.input, trace.output) == (task, "It is the Júcar.")


def test_an_answer_in_capitals_stays_the_answer() -> None:
    said = [{"role": "user", "content": "Capital of Peru? In capitals."}, {"role": "assistant", "content": "LIMA"}]
    (trace,) = traces_of({"messages": said, "reward": 1.0})
    assert trace.output == "LIMA"


def test_runs_by_task_with_a_list_for_each_kind_of_step() -> None:
    def run(*rewards: float) -> dict[str, Any]:
        steps = {"actions": ["ls", "wc -l a"], "observations": ["a", "3"], "rewards": list(rewards), "valid": [True]}
        return {"query": "How long is a?", "turn_history": steps, "summary": {"turns": 2}}

    first, second, third = traces_of({"0": run(0, 1), "1": run(0, 0), "2": run(1, 0)})
    assert first.input == "How long is a?"
    assert [span.name for span in first.spans] == ["action", "action"]
    assert [[score.value for score in trace.scores] for trace in (first, second, third)] == [[1.0], [0.0], []]


def test_a_chat_whose_sides_stand_under_another_key() -> None:
    said = [
        {"sender": "p2", "side": "Human", "text": "Do you ski?"},
        {"sender": "p1", "side": "Bot", "text": "Yes, in winter."},
    ]
    (trace,) = traces_of({"dialog": said, "start_time": "2018-07-09 04:29:15"})
    assert (trace.input, trace.output) == ("Do you ski?", "Yes, in winter.")
