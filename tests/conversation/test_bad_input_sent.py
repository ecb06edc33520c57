"""Torn, misspelled and very large conversations, sent as others send them: kept, marked, never shortened in silence."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from evergold.conversation import conversation_of
from evergold.model.case import Conversation
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.otlp import a_span, json_body, protobuf_body

ANSWER = {"role": "assistant", "content": "Done."}
ASKED = {"role": "user", "content": "Cancel my flight."}
Messages = list[dict[str, Any]]


def genai(messages: Messages) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps([ANSWER]),
    }


def openinference(messages: Messages) -> dict[str, Any]:
    return {
        "openinference.span.kind": "LLM",
        "input.value": json.dumps({"messages": messages}),
        "output.value": json.dumps({"choices": [{"message": ANSWER}]}),
    }


def langfuse_attributes(messages: Messages) -> dict[str, Any]:
    return {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": json.dumps(messages),
        "langfuse.observation.output": json.dumps(ANSWER),
    }


def by_otlp(attributes: Callable[[Messages], dict[str, Any]], wire: Wire) -> Callable[[Workspace, Messages], None]:
    def send(workspace: Workspace, messages: Messages) -> None:
        span = a_span(attributes=attributes(messages))
        body = json_body(span) if wire is Wire.JSON else protobuf_body(span)
        assert not workspace.intake.receive_traces(body, wire).result().refused

    return send


def by_langfuse_file(workspace: Workspace, messages: Messages) -> None:
    at = "2026-01-01T00:00:0{}Z".format
    call = {"id": "g1", "traceId": "t1", "type": "GENERATION", "startTime": at(1), "input": messages, "output": ANSWER}
    whole = {"trace": {"id": "t1", "timestamp": at(0), "input": messages, "output": ANSWER}, "observations": [call]}
    assert not workspace.intake.ingest([BytesIO(json.dumps(whole).encode())]).rejected


def by_line(workspace: Workspace, messages: Messages) -> None:
    line = {"type": "trace", "id": "t1", "messages": [*messages, ANSWER]}
    assert not workspace.intake.ingest([BytesIO(json.dumps(line).encode() + b"\n")]).rejected


def by_indented_file(workspace: Workspace, messages: Messages) -> None:
    run = {
        "id": "r1",
        "name": "chat",
        "run_type": "llm",
        "inputs": {"messages": messages},
        "outputs": {"messages": [ANSWER]},
    }
    times = {
        "start_time": "2026-01-01T00:00:00",
        "end_time": "2026-01-01T00:00:01",
        "trace_id": "r1",
        "dotted_order": "1",
    }
    file = BytesIO(json.dumps([{"inputs": run["inputs"]} | run | times], indent=1).encode())
    assert not workspace.intake.ingest([file]).rejected


WAYS: dict[str, Callable[[Workspace, Messages], None]] = {
    "OTLP JSON, GenAI": by_otlp(genai, Wire.JSON),
    "protobuf, OpenInference": by_otlp(openinference, Wire.PROTOBUF),
    "protobuf, Langfuse": by_otlp(langfuse_attributes, Wire.PROTOBUF),
    "a file of Langfuse": by_langfuse_file,
    "a line": by_line,
    "an indented file of LangSmith": by_indented_file,
}


def a_call(id: str = "c1", arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "cancel", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def a_result(id: str = "c1", content: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


TORN: dict[str, tuple[Messages, list[str]]] = {
    "a call without a result": ([ASKED, a_call()], ["cancel"]),
    "a result without a call": ([ASKED, a_result("nobody", "lost and kept")], ["lost and kept"]),
    "an id used twice": (
        [ASKED, a_call("x"), a_result("x", "first result"), a_call("x"), a_result("x", "second result")],
        ["first result", "second result"],
    ),
    "a role nobody knows": ([{"role": "narrator", "content": "Meanwhile"}, ASKED], ["Meanwhile"]),
    "arguments that are no JSON": ([ASKED, a_call(arguments="{not json"), a_result()], ["{not json", "done"]),
    "content that is no text": (
        [{"role": "user", "content": {"odd": [1, {"deep": "value kept"}]}}, ASKED],
        ["value kept"],
    ),
    "a message without a role": ([{"content": "who said this"}, ASKED], []),
}


def read_back(tmp_path: Path, way: str, messages: Messages, **changed: Any) -> Conversation:
    settings = replace(Settings(home=tmp_path, checks_builtin="false", redact_redactor=""), **changed)
    with Workspace.open(settings) as workspace:
        WAYS[way](workspace, messages)
        (listed,), _ = workspace.intake.page(TraceFilter(), limit=5)
        return conversation_of(workspace.intake.get(listed.id))


def spelled(read: Conversation) -> str:
    return json.dumps([*read.messages, *read.turn, *read.after])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("torn", TORN)
def test_what_is_torn_is_kept(way: str, torn: str, tmp_path: Path) -> None:
    messages, kept = TORN[torn]
    whole = spelled(read_back(tmp_path, way, messages))
    assert [text for text in (*kept, "Cancel my flight.", "Done.") if text not in whole] == []


@pytest.mark.parametrize("way", WAYS)
def test_five_thousand_turns_are_kept_in_order(way: str, tmp_path: Path) -> None:
    turns = [{"role": ("user", "assistant")[number % 2], "content": f"turn {number}"} for number in range(5001)]
    read = read_back(tmp_path, way, turns)
    assert [message["content"] for message in (*read.messages, *read.turn)] == [*(t["content"] for t in turns), "Done."]


@pytest.mark.parametrize("way", WAYS)
def test_a_large_conversation_and_a_large_result_are_whole_or_marked(way: str, tmp_path: Path) -> None:
    turns: Messages = [{"role": ("user", "assistant")[n % 2], "content": f"{n} " + "x" * 100_000} for n in range(51)]
    turns += [a_call(), a_result(content="y" * 5_000_000)]
    read = read_back(tmp_path, way, turns)
    texts = [str(message.get("content") or "") for message in (*read.messages, *read.turn, *read.after)]
    whole = [text for text in texts if len(text) >= 100_000]
    assert len(whole) == 52 and (max(map(len, whole)) == 5_000_000 or any("cut" in one for one in read.problems))
