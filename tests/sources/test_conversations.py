"""Chats of an app, one conversation a line: each answer becomes a trace of its session."""

import json
from datetime import UTC, datetime
from typing import Any

from evergold.model.faults import Rejected
from evergold.model.trace import Trace, TraceStatus
from evergold.sources.agents.trajectories import AgentLogs
from tests.rows import each_row

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "When do you open?"},
    {"role": "assistant", "content": "At nine."},
    {"role": "user", "content": "And on Sundays?"},
    {"role": "assistant", "content": "We are closed."},
]
TALK: dict[str, Any] = {"conversation_id": "c7", "user_id": "u3", "model": "m1", "channel": "web", "messages": MESSAGES}


def lines(*documents: dict[str, Any]) -> list[bytes]:
    return [json.dumps(document).encode() + b"\n" for document in documents]


def read(*documents: dict[str, Any], unit: str | None = None) -> list[Trace]:
    records = list(AgentLogs(unit).read(lines(*documents), "chats.jsonl"))
    assert not [record for record in records if isinstance(record, Rejected) and not record.is_note]
    return [record for record in records if isinstance(record, Trace)]


def test_each_answer_is_a_trace_of_its_session() -> None:
    first, second = read(TALK)
    assert (first.input, first.output) == ("When do you open?", "At nine.")
    assert (second.input, second.output) == ("And on Sundays?", "We are closed.")
    assert {(trace.session_id, trace.user_id, trace.name) for trace in (first, second)} == {("c7", "u3", "chat")}
    assert (first.metadata["model"], first.metadata["channel"]) == ("m1", "web")
    assert first.id != second.id


def test_a_whole_conversation_is_one_trace_on_request() -> None:
    assert [trace.output for trace in read(TALK, unit="task")] == ["We are closed."]


def test_messages_alone_are_enough_and_the_same_file_gives_the_same_ids() -> None:
    bare = {"messages": MESSAGES}
    assert [trace.id for trace in read(bare)] == [trace.id for trace in read(bare)]


@each_row("moment", ["2026-03-01T08:00:00Z", "2026-03-01T08:00:00", 1772352000, 1772352000000])
def test_turns_keep_their_order_where_only_the_conversation_has_a_time(moment: str | int) -> None:
    first, second = read(TALK | {"created_at": moment})
    assert first.started_at == datetime(2026, 3, 1, 8, tzinfo=UTC)
    assert second.started_at is not None
    assert second.started_at > first.started_at


@each_row("moment", ["yesterday", 1e300, True, [], "2026-99-01"])
def test_a_time_that_is_none_is_no_reason_to_refuse(moment: Any) -> None:
    assert len(read(TALK | {"created_at": moment})) == 2


@each_row("key", ["messages", "conversation", "history"])
def test_files_of_conversations_are_recognised(key: str) -> None:
    document = {"id": 12, key: MESSAGES}
    assert AgentLogs().accepts(lines(document)[0])
    assert AgentLogs().accepts(json.dumps([document]).encode())
    assert AgentLogs().accepts(json.dumps({key: MESSAGES * 50}).encode()[:500])


@each_row(
    "other",
    [
        {"type": "trace", "id": "t1", "messages": MESSAGES},
        {"id": "t1", "input": "q", "output": "a", "messages": MESSAGES},
        {"id": "r1", "run_type": "llm", "inputs": {"messages": MESSAGES}},
        {"messages": "none"},
        {"messages": []},
    ],
)
def test_records_of_other_formats_are_left_to_their_readers(other: dict[str, Any]) -> None:
    assert not AgentLogs().accepts(lines(other)[0])


def spoken(*texts: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]}


LS, SORT = "Use this:\n```sh\nls\n```", "Sorted:\n```python\nsorted(x)\n```"


@each_row(
    "listed",
    [
        ("How do I list files?", LS + "\nThat does it.", "And hidden ones?", LS, "Sort a list.", SORT),
        ("How do I list files?", LS, "Now sort them", SORT, "I get:\nNameError: x", SORT),
        ("SQL: all users", "```\nA\n```", "SQL: all orders", "```\nB\n```", "SQL: all items", "```\nC\n```"),
        ("An intent?", "```xml\n<action a='b'/>\n```", "More", "```xml\n<action/>\n```", "And one more", LS),
    ],
)
def test_a_chat_whose_answers_all_hold_code_stays_a_chat(listed: tuple[str, ...]) -> None:
    assert [(trace.input, trace.output) for trace in read(spoken(*listed))] == [
        *zip(listed[::2], listed[1::2], strict=True)
    ]


@each_row(
    "results",
    [
        ("Observation:\na.py", "Observation:\n3"),
        ("<returncode>0</returncode>\na.py", "<returncode>1</returncode>"),
        ("The output of the OS:\na.py", "The output of the OS:\n3"),
        ("exitcode: 0\na.py", "exitcode: 1\n3"),
    ],
)
def test_results_between_commands_make_a_run(results: tuple[str, str]) -> None:
    (trace,) = read(spoken("How long is a?", LS + "<end_code>", results[0], SORT, results[1], "It has 3 lines."))
    assert (trace.input, trace.output) == ("How long is a?", "It has 3 lines.")
    bare = ("How long is a?", "Action: ls", "a.py", "Action: wc a.py", "3 a.py", "It has 3 lines.")
    assert [trace.output for trace in read(spoken(*bare))] == ["It has 3 lines."]


@each_row(
    "parts, whole",
    [
        (("I show the first and", " last entries."), "I show the first and last entries."),
        (("The log", "ger is set", " up.\n"), "The logger is set up.\n"),
        (("We open at nine.", "Anything else?"), "We open at nine.\n\nAnything else?"),
        (("The answer is four.", "TERMINATE"), "The answer is four."),
        (("We open", "We open at nine."), "We open at nine."),
    ],
)
def test_an_answer_in_several_messages_is_whole(parts: tuple[str, ...], whole: str) -> None:
    listed = [MESSAGES[1], *({"role": "assistant", "content": part} for part in parts), *MESSAGES[3:]]
    first, second = read({"created_at": 1772352000, "messages": listed})
    assert (first.output, second.output) == (whole, "We are closed.")
    assert second.started_at and first.ended_at and (second.started_at - first.ended_at).seconds == 1


ASKED, ANSWERED = MESSAGES[1], MESSAGES[2]
CHATGPT = {
    "title": "Hours",
    "conversation_id": "c1",
    "current_node": "n4",
    "mapping": {
        "n1": {"message": None, "parent": None},
        "n2": {"message": {"author": {"role": "user"}, "content": {"parts": ["When do you open?"]}}, "parent": "n1"},
        "n3": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["At ten."]}}, "parent": "n2"},
        "n4": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["At nine."]}}, "parent": "n2"},
    },
}
CALLED = {"request": {"model": "m1", "messages": [ASKED]}}
LAYOUTS: dict[str, Any] = {
    "ChatGPT's export, the branch that is shown": [CHATGPT],
    "Claude's export": [
        {
            "uuid": "c1",
            "chat_messages": [
                {"sender": "human", "text": "When do you open?", "created_at": "2026-03-01T08:00:00Z"},
                {"sender": "assistant", "text": "At nine.", "created_at": "2026-03-01T08:00:01Z"},
            ],
        }
    ],
    "Gemini's contents": {
        "contents": [
            {"role": "user", "parts": [{"text": "When do you open?"}]},
            {"role": "model", "parts": [{"text": "At nine."}]},
        ]
    },
    "LangChain's objects": {
        "messages": [
            {"lc": 1, "id": ["langchain", "schema", name], "kwargs": {"type": kind, "content": text}}
            for name, kind, text in (("HumanMessage", "human", "When do you open?"), ("AIMessage", "ai", "At nine."))
        ]
    },
    "a reply beside": {"messages": [ASKED], "response": "At nine."},
    "a message beside": {"messages": [ASKED], "completion": ANSWERED},
    "choices beside": {"messages": [ASKED], "choices": [{"message": ANSWERED}]},
    "a request of OpenAI": CALLED | {"response": {"choices": [{"message": ANSWERED}], "usage": {"prompt_tokens": 3}}},
    "a request of Anthropic": CALLED | {"response": {"content": [{"type": "text", "text": "At nine."}]}},
    "a request of OpenAI's Responses": {
        "request": {"model": "m1", "input": "When do you open?"},
        "response": {
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "At nine."}]}
            ]
        },
    },
    "two choices": {
        "messages": [ASKED],
        "choices": [
            {"index": 1, "message": {"role": "assistant", "content": "At ten."}},
            {"index": 0, "message": ANSWERED},
        ],
    },
    "a list of messages": [ASKED, ANSWERED],
    "a list of lists of messages": [[ASKED, ANSWERED]],
}


@each_row("document", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_chats_are_recognised_and_read_in_every_layout(document: Any) -> None:
    for indent in (None, 2):
        written = json.dumps(document, indent=indent).encode()
        assert AgentLogs().accepts(written)
        trace = next(AgentLogs().read(written.splitlines(keepends=True), "chats.json"))
        assert isinstance(trace, Trace)
        assert (trace.input, trace.output) == ("When do you open?", "At nine.")
        assert trace.metadata.get("usage") == ({"prompt_tokens": 3} if b"usage" in written else None)


def test_messages_one_a_line_are_a_chat_for_each_session() -> None:
    first, second, third = read(
        *({"session_id": "s1"} | message for message in MESSAGES[1:3]),
        {"session_id": "s2"} | MESSAGES[3],
        *({"session_id": "s1"} | message for message in MESSAGES[3:]),
        {"session_id": "s2", "role": "assistant", "content": "At noon."},
    )
    assert [(trace.session_id, trace.input, trace.output) for trace in (first, second, third)] == [
        ("s1", "When do you open?", "At nine."),
        ("s1", "And on Sundays?", "We are closed."),
        ("s2", "And on Sundays?", "At noon."),
    ]


def test_a_table_of_messages_is_a_chat_for_each_session() -> None:
    table = b"session_id,role,content\ns1,user,When?\ns2,user,Where?\ns1,assistant,At nine.\ns2,assistant,Here.\n"
    assert AgentLogs().accepts(table)
    first, second, _ = AgentLogs().read(table.splitlines(keepends=True), "chats.csv")  # and that they state no time
    assert isinstance(first, Trace) and isinstance(second, Trace)
    assert [(one.session_id, one.input, one.output) for one in (first, second)] == [
        ("s1", "When?", "At nine."),
        ("s2", "Where?", "Here."),
    ]


def test_messages_of_gemini_in_one_session_are_told_apart_by_their_text() -> None:
    asked = [
        {"session_id": "k", "contents": [{"role": "user", "parts": [{"text": text}]}], "response": text}
        for text in "ab"
    ]
    assert [(trace.input, trace.output) for trace in read(*asked)] == [("a", "a"), ("b", "b")]


def test_a_request_that_failed_is_a_failed_trace() -> None:
    later = {"messages": MESSAGES[1:4], "response": {"error": {"message": "Rate limit"}}}
    assert [trace.status for trace in read(later)] == [TraceStatus.COMPLETED, TraceStatus.FAILED]
    (trace,) = read(CALLED | {"response": {"error": {"message": "Rate limit"}}})
    assert (trace.input, trace.output, trace.status) == ("When do you open?", None, TraceStatus.FAILED)


def test_an_expected_answer_is_no_reply() -> None:
    (trace,) = read({"messages": [ASKED], "answer": "At nine."})
    assert trace.output is None


def one(question: str, answer: str, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}], "response": answer} | fields


def shown(*documents: dict[str, Any]) -> list[tuple[str | None, str | None, str | None]]:
    return [(trace.session_id, trace.input, trace.output) for trace in read(*documents)]


def test_requests_of_one_session_are_one_chat() -> None:
    first, second = one("a?", "A", session_id="k"), one("b?", "B", session_id="k")
    assert shown(first, second) == [("k", "a?", "A"), ("k", "b?", "B")]
    repeated = second | {
        "messages": [first["messages"][0], {"role": "assistant", "content": "A"}, second["messages"][0]]
    }
    assert shown(first, repeated) == shown(first, second)
    parts = [first | {"usage": {"prompt_tokens": 3}}, second | {"usage": {"prompt_tokens": 4}}]
    assert [trace.metadata["messages"][-1]["extra"]["usage"]["prompt_tokens"] for trace in read(*parts)] == [3, 4]
    assert len(shown(one("a?", "A"), one("a?", "A"), one("b?", "B"))) == 3


def test_a_chat_with_a_reward_keeps_answer_session_and_user() -> None:
    (trace,) = read(one("a?", "A", session_id="k", user_id="ana", model="m1", reward=1.0))
    assert (trace.session_id, trace.user_id, trace.output, trace.scores[0].value) == ("k", "ana", "A", 1.0)


def test_messages_alone_keep_user_and_model_and_come_in_the_order_of_their_times() -> None:
    listed = [
        {"role": role, "content": text, "session_id": "s", "created_at": f"2026-01-01T00:00:0{second}Z"}
        for second, (role, text) in enumerate((("user", "a?"), ("assistant", "A"), ("user", "b?"), ("assistant", "B")))
    ]
    listed[0]["user_id"], listed[1]["model"] = "ana", "m1"
    assert shown(*reversed(listed)) == shown(*listed) == [("s", "a?", "A"), ("s", "b?", "B")]
    assert {(trace.user_id, trace.metadata["model"]) for trace in read(*listed)} == {("ana", "m1")}


def test_what_a_whole_chat_cost_is_no_cost_of_its_turns() -> None:
    turns = read(TALK | {"cost": 0.5, "usage": {"prompt_tokens": 3}})
    assert [trace.cost for trace in turns] == [None, None]
    assert {(turn.metadata["chat_cost"], turn.metadata["chat_usage"]["prompt_tokens"]) for turn in turns} == {(0.5, 3)}
    (trace,) = read(one("a?", "A", cost=0.5, usage={"prompt_tokens": 3, "completion_tokens": 2}))
    assert (trace.cost, trace.metadata["input_tokens"], trace.metadata["output_tokens"]) == (0.5, 3, 2)


def test_flat_messages_of_langchain_with_tools_are_read() -> None:
    call = {"type": "ai", "content": "", "tool_calls": [{"name": "t", "args": {"a": 1}, "id": "1"}]}
    messages = [{"type": "human", "content": "Hi?"}, call, {"type": "tool", "content": "r", "tool_call_id": "1"}]
    (trace,) = read({"id": "lc", "messages": [*messages, {"type": "ai", "content": "Done."}]})
    assert (trace.input, trace.output, [span.name for span in trace.spans]) == ("Hi?", "Done.", ["t"])
