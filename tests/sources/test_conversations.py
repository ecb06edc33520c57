"""Chats of an app, one conversation a line: each answer becomes a trace of its session."""

import json
from datetime import UTC, datetime
from typing import Any

from evergold.model.trace import Trace
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
    assert all(isinstance(record, Trace) for record in records)
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
