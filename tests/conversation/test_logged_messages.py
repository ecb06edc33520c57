"""Messages that were logged beside a model call, one record each or one for the whole call."""

from typing import Any

import pytest

from evergold.conversation import conversation_of
from tests.builders import a_trace

CALLED = [{"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"seat":"4A"}'}}]
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("gen_ai.system.message", {"content": "You sell tickets."}),
    ("gen_ai.user.message", {"content": "Una entrada, por favor"}),
]
FIRST: list[tuple[str, dict[str, Any]]] = [
    *ASKED,
    ("gen_ai.choice", {"index": 0, "message": {"role": "assistant", "tool_calls": CALLED}}),
]
SECOND: list[tuple[str, dict[str, Any]]] = [
    *ASKED,
    ("gen_ai.assistant.message", {"tool_calls": CALLED}),
    ("gen_ai.tool.message", {"id": "c1", "content": "4A is yours"}),
    ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Listo: 4A"}}),
    ("gen_ai.choice", {"index": 1, "message": {"role": "assistant", "content": "Hecho"}}),
]
ROLES = ["system", "user", "assistant", "tool", "assistant"]
DEFINED = [{"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}]
DETAILS = "gen_ai.client.inference.operation.details"


def a_record(number: int, name: str, fields: dict[str, Any], parent: str) -> dict[str, Any]:
    moment = f"2026-01-01T00:00:00.{number:06}Z"
    spoken = fields.get("message", {}).get("content") if name == "gen_ai.choice" else None
    metadata = {"attributes": {"evergold.span.kind": "event", **fields}}
    record = {"id": f"e{number}", "parent_id": parent, "name": name, "kind": "event", "output": spoken}
    return {**record, "started_at": moment, "ended_at": moment, "metadata": metadata}


def a_call(id: str, number: int, **attributes: Any) -> dict[str, Any]:
    moment = f"2026-01-01T00:00:00.{number:06}Z"
    metadata = {"model": "m-1", "attributes": {"gen_ai.request.model": "m-1", **attributes}}
    fields = {"id": id, "parent_id": "root", "name": "chat", "kind": "llm", "metadata": metadata}
    return {**fields, "started_at": "2026-01-01T00:00:00Z", "ended_at": moment}


def a_ticket(*spans: dict[str, Any], **more: Any) -> Any:
    root = {"id": "root", "name": "turn", "kind": "span"}
    return a_trace(**{"input": "Una entrada, por favor", "output": "Listo: 4A", "spans": [root, *spans], **more})


@pytest.mark.parametrize("parents", [("first", "second"), ("turn", "turn")], ids=["a span each", "one span for both"])
def test_records_of_single_messages_are_one_conversation(parents: tuple[str, str]) -> None:
    records = [a_record(n, name, fields, parents[0]) for n, (name, fields) in enumerate(FIRST)]
    records += [a_record(10 + n, name, fields, parents[1]) for n, (name, fields) in enumerate(SECOND)]
    conversation = conversation_of(a_ticket(a_call("first", 8), a_call("second", 18), *records))
    whole = [*conversation.messages, *conversation.turn]
    assert [message["role"] for message in whole] == ROLES
    assert [message.get("content") for message in whole][1::2] == ["Una entrada, por favor", "4A is yours"]
    assert whole[2]["tool_calls"] == CALLED
    assert whole[-1]["content"] == "Listo: 4A"
    assert conversation.problems == ()
    if parents[1] == "second":
        assert conversation.parameters["model"] == "m-1"


def test_tools_are_read_from_the_record_of_the_whole_call() -> None:
    said = {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Una entrada, por favor"}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Listo: 4A"}]}],
    }
    told = {**said, "gen_ai.tool.definitions": DEFINED}
    below = conversation_of(a_ticket(a_call("m", 5, **said), a_record(4, DETAILS, told, "m")))
    # A stream that is read to its end outside the span is logged beside it.
    beside = conversation_of(a_ticket(a_call("m", 5, **said), a_record(4, DETAILS, told, "root")))
    only = conversation_of(a_ticket(a_call("m", 5), a_record(4, DETAILS, told, "m")))
    for conversation in (below, beside, only):
        assert conversation.tools == tuple(DEFINED)
        assert [message["role"] for message in (*conversation.messages, *conversation.turn)] == ["user", "assistant"]


def test_a_failed_call_has_the_messages_that_were_logged() -> None:
    records = [a_record(n, name, fields, "m") for n, (name, fields) in enumerate(ASKED)]
    conversation = conversation_of(a_ticket(a_call("m", 5), *records, output=None, status="failed"))
    assert [message["role"] for message in conversation.messages] == ["system", "user"]
    assert conversation.turn == ()
