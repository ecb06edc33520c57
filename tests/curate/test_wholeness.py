"""A trace that lacks something is neither golden nor a failure by checks; what somebody said of it still counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import calling, served
from tests.cli.running import Ran, evergold
from tests.otlp import a_request, a_span, an_llm_span

QUESTION, ANSWER = "Where is my parcel, it was due on Monday?", "It is in Lyon and arrives on Thursday."
GOOD = {"name": "format", "value": 1.0}


def run(folder: Path, *args: str, checks: str = "true", **more: Any) -> Ran:
    done = evergold(*args, cwd=folder, EVERGOLD_CHECKS_BUILTIN=checks, **more)
    assert done.code == 0, done.err
    return done


def curated(folder: Path, *traces: dict[str, Any], checks: str = "true") -> dict[str, Any]:
    """What `curate --json` says of these traces."""
    lines = "".join(json.dumps({"type": "trace", **trace}) + "\n" for trace in traces)
    run(folder, "ingest", "-", stdin=lines, checks=checks)
    told: dict[str, Any] = run(folder, "curate", "--json", checks=checks).json
    return told


def lacks(folder: Path, trace_id: str) -> list[str]:
    (told,) = run(folder, "curate", "--explain", trace_id, "--json").json
    return [each["gap"] for each in told["incomplete"]]


def a_call(name: str, **arguments: str) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def a_tool_span(name: str) -> dict[str, Any]:
    return {"id": f"s-{name}", "name": name, "kind": "tool", "output": "Lyon", "metadata": {"tool": name}}


CALLING = [
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": None, "tool_calls": [a_call("track", parcel="7")]},
    {"role": "tool", "tool_call_id": "c1", "content": "Lyon"},
    {"role": "assistant", "content": ANSWER},
]
ENVELOPE = {"user_id": "u1", "new_message": {"role": "user", "parts": [{"inline_data": "…"}]}}
INCOMPLETE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing exported": ({}, ["no_question", "no_answer"]),
    "no answer": ({"input": QUESTION}, ["no_answer"]),
    "an answer that was taken out": ({"input": QUESTION, "output": "[Response Cleared]"}, ["no_answer"]),
    "an answer that was cut": ({"input": QUESTION, "output": ANSWER + " <truncated 3232 bytes>"}, ["no_answer"]),
    "no question": ({"output": ANSWER}, ["no_question"]),
    "an observation": ({"input": "Observation: exit code 1", "output": ANSWER}, ["question_not_from_a_person"]),
    "a template": ({"input": "Answer {question} from {context}", "output": ANSWER}, ["question_not_from_a_person"]),
    "a system prompt": (
        {
            "input": "You are a shop assistant.",
            "output": ANSWER,
            "messages": [
                {"role": "system", "content": "You are a shop assistant."},
                {"role": "assistant", "content": ANSWER},
            ],
        },
        ["question_not_from_a_person"],
    ),
    "a tool's result": (
        {"input": "Wrong flag!", "output": ANSWER, "spans": [{**a_tool_span("submit"), "output": "Wrong flag!"}]},
        ["question_not_from_a_person"],
    ),
    "a printed dict": ({"input": "{'user_id': 'u1', 'text': 'hi'}", "output": ANSWER}, ["envelope"]),
    "a printed object": ({"input": QUESTION, "output": "RunResult(text='Lyon', usage=Usage(n=3))"}, ["envelope"]),
    "code for its environment": (
        {"input": QUESTION, "output": "I look it up.\n<execute>print(track(81))</execute>\n"},
        ["envelope"],
    ),
    "a call as text": ({"input": QUESTION, "output": '<tool_call>{"name": "track"}</tool_call>'}, ["envelope"]),
    "an action behind words": (
        {
            "input": QUESTION,
            "output": 'You are welcome.\nAction:\n{"name": "respond", "arguments": {"content": "Bye"}}\n',
        },
        ["envelope"],
    ),
    "a framework's object": ({"input": QUESTION, "output": json.dumps({"lc": 1, "kwargs": {}})}, ["envelope"]),
    "a framework's question": ({"input": json.dumps(ENVELOPE), "output": ANSWER}, ["envelope"]),
    "a lost call": (
        {"input": QUESTION, "output": ANSWER, "messages": CALLING, "spans": [a_tool_span("refund")]},
        ["tools_missing"],
    ),
    "a result whose call is nowhere": (
        {"input": QUESTION, "output": ANSWER, "messages": [CALLING[0], *CALLING[2:]]},
        ["tools_missing"],
    ),
    "one of two calls of a tool lost": (
        {
            "input": QUESTION,
            "output": ANSWER,
            "messages": CALLING,
            "spans": [{**a_tool_span("track"), "id": n, "input": json.dumps({"parcel": n})} for n in "78"],
        },
        ["tools_missing"],
    ),
    "a step of loading": (
        {
            "name": "Splitter.workflow",
            "input": json.dumps({"nodes": ['{"text": "Films are lent for four days."}']}),
            "output": json.dumps({"text": "Films are lent for four days.", "embedding": None}),
            "spans": [{"id": "s", "name": "Splitter.workflow", "kind": "chain"}],
        },
        ["no_interaction"],
    ),
    "a step of transport": (
        {"spans": [{"id": "s", "name": "send", "metadata": {"attributes": {"messaging.operation": "publish"}}}]},
        ["no_interaction"],
    ),
    "an object that holds a stream": (
        {"input": QUESTION, "output": json.dumps({"response": "", "queue": "<queue.Queue object at 0x7f02>"})},
        ["envelope"],
    ),
    "an embedding over HTTP": (
        {
            "input": "a film",
            "spans": [
                {"id": "s", "name": "embeddings", "kind": "embedding", "input": "a film"},
                {"id": "h", "parent_id": "s", "name": "POST", "kind": "span"},
                {"id": "e", "parent_id": "s", "name": "gen_ai.client.inference.operation.details", "kind": "event"},
            ],
        },
        ["no_interaction"],
    ),
    "construction": ({"name": "create_agent Shop", "input": "You are a shop assistant."}, ["no_interaction"]),
}


@pytest.mark.parametrize("what", INCOMPLETE)
def test_an_incomplete_trace_is_neither_golden_nor_a_failure_by_checks(tmp_path: Path, what: str) -> None:
    fields, gaps = INCOMPLETE[what]
    told = curated(tmp_path, {"id": "t1", **fields}, {"id": "scored", **fields, "scores": [GOOD]})
    assert (told["candidate"], told["golden_unconfirmed"], told["golden_confirmed"], told["failure"]) == (0, 0, 0, 0)
    assert lacks(tmp_path, "t1") == gaps
    assert {each["gap"]: each["traces"] for each in told["incomplete"]} == dict.fromkeys(gaps, 2)


WHOLE: dict[str, dict[str, Any]] = {
    "plain": {"input": QUESTION, "output": ANSWER},
    "an empty answer": {"input": QUESTION, "output": ""},
    "a crash": {"input": QUESTION, "status": "failed", "metadata": {"error": "boom"}},
    "JSON of the app": {"input": QUESTION, "output": json.dumps({"city": "Lyon", "day": "Thursday"})},
    "JSON behind words": {"input": QUESTION, "output": 'The record:\n{"name": "Lyon", "parcels": 7}'},
    "code": {"input": "What does foo(bar=1) print here, and why not 2?", "output": "It prints 1 (the default)"},
    "calls and results": {"input": QUESTION, "output": ANSWER, "messages": CALLING, "spans": [a_tool_span("track")]},
    "a dialogue that ends with thanks": {
        "input": "Thanks, bye",
        "messages": [*CALLING, {"role": "user", "content": "Thanks, bye"}],
    },
    "a hand-over, a step of the framework": {
        "input": QUESTION,
        "output": ANSWER,
        "spans": [{**a_tool_span("hand over to billing"), "input": "desk", "output": "billing"}],
    },
    "a list that the app gives": {"name": "list_orders", "input": QUESTION, "output": ANSWER},
}


@pytest.mark.parametrize("what", WHOLE)
def test_a_whole_trace_lacks_nothing(tmp_path: Path, what: str) -> None:
    told = curated(tmp_path, {"id": "t1", **WHOLE[what]})
    assert told["incomplete"] == [] and lacks(tmp_path, "t1") == []


def test_the_last_answered_turn_of_a_dialogue_counts(tmp_path: Path) -> None:
    curated(tmp_path, {"id": "t1", **WHOLE["a dialogue that ends with thanks"], "scores": [GOOD]})
    (case,) = run(tmp_path, "cases", "list", "--json").json["cases"]
    assert (case["input"], case["output"]) == (QUESTION, ANSWER)


def test_closing_words_of_a_session_lack_no_answer_and_a_tools_result_is_none(tmp_path: Path) -> None:
    times = [f"2026-07-01T10:0{n}:00Z" for n in range(2)]
    asked = {"id": "t1", "session_id": "s", "input": QUESTION, "output": ANSWER, "started_at": times[0]}
    closing = {"id": "t2", "session_id": "s", "input": "Thanks, bye", "started_at": times[1]}
    cut = {"id": "t3", "input": QUESTION, "messages": CALLING[:-1], "output": json.dumps(CALLING[1:-1])}
    curated(tmp_path, asked, closing, cut)
    assert lacks(tmp_path, "t2") == ["no_interaction"]
    assert "envelope" in lacks(tmp_path, "t3")


@pytest.mark.parametrize("score", [{"source": "user"}, {"source": "human"}, {"source": "system"}])
def test_what_somebody_said_of_an_incomplete_trace_makes_a_failure(tmp_path: Path, score: dict[str, Any]) -> None:
    bad = {"name": "opinion", "value": 0.0, **score}
    assert curated(tmp_path, {"id": "t1", "input": QUESTION, "scores": [bad]})["failure"] == 1


def test_a_correction_of_an_incomplete_trace_counts(tmp_path: Path) -> None:
    curated(tmp_path, {"id": "t1", "input": QUESTION})
    line = json.dumps({"type": "correction", "trace_id": "t1", "text": "It is in Nice."})
    run(tmp_path, "ingest", "-", stdin=line + "\n")
    told = run(tmp_path, "curate", "--json").json
    assert (told["failure"], told["correction"]) == (1, 1)


def test_a_trace_that_grows_becomes_whole(tmp_path: Path) -> None:
    question = {"type": "span", "trace_id": "t1", "id": "a", "parent_id": "root", "kind": "llm", "input": QUESTION}
    run(tmp_path, "ingest", "-", stdin=json.dumps(question) + "\n")
    assert run(tmp_path, "curate", "--json").json["incomplete"][0]["gap"] == "no_answer"
    answer = {**question, "id": "root", "parent_id": None, "kind": "chain", "output": ANSWER}
    run(tmp_path, "ingest", "-", stdin=json.dumps(answer) + "\n")
    told = run(tmp_path, "curate", "--json").json
    assert told["incomplete"] == [] and told["candidate"] == 1


def test_without_checks_an_incomplete_trace_is_not_golden_either(tmp_path: Path) -> None:
    told = curated(tmp_path, {"id": "t1", "output": ANSWER, "scores": [GOOD]}, checks="false")
    assert told["golden_unconfirmed"] == 0 and told["incomplete"][0]["gap"] == "no_question"


def test_of_a_whole_task_the_question_is_the_task(tmp_path: Path) -> None:
    said = [("user", "Find the flag."), ("assistant", "ls"), ("user", "EXECUTION TIMED OUT"), ("assistant", "Done.")]
    messages = [{"role": role, "content": text} for role, text in said]
    log = json.dumps({"task_id": "1", "traj": messages, "reward": 1.0})
    run(tmp_path, "ingest", "-", stdin=log + "\n")
    told = run(tmp_path, "curate", "--json").json
    assert told["incomplete"] == []
    (case,) = run(tmp_path, "cases", "list", "--json").json["cases"]
    assert (case["input"], case["output"]) == ("Find the flag.", "Done.")


def test_the_overview_counts_by_reason_and_exporter_and_the_list_is_narrowed_by_them(tmp_path: Path) -> None:
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1"}
    mute = a_request(a_span(attributes=bare, name="chat small-1", trace="a" * 32))
    mute.resource_spans[0].scope_spans[0].scope.name = "opentelemetry.instrumentation.openai_v2"
    built = a_span(
        attributes={"gen_ai.operation.name": "create_agent", "gen_ai.system_instructions": "You are a shop assistant."},
        name="create_agent Shop",
        trace="b" * 32,
    )
    with served(tmp_path, EVERGOLD_CHECKS_BUILTIN="true") as url, calling(url) as server:
        for body in (mute, a_request(built), a_request(an_llm_span(trace="c" * 32))):
            headers = {"content-type": "application/x-protobuf"}
            server.post("/v1/traces", content=body.SerializeToString(), headers=headers).raise_for_status()
        server.post("/api/v1/curation")
        seen = server.get("/api/v1/stats/overview", params={"period": "365d"}).json()["incomplete"]
        assert {(each["gap"], each["exporter"]): each["traces"] for each in seen} == {
            ("no_question", "opentelemetry.instrumentation.openai_v2"): 1,
            ("no_answer", "opentelemetry.instrumentation.openai_v2"): 1,
            ("no_interaction", "tests"): 1,
        }
        told = next(each["change"] for each in seen if each["gap"] == "no_answer")
        assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in told

        def listed(**query: str) -> set[str]:
            return {each["id"][0] for each in server.get("/api/v1/traces", params=query).json()["traces"]}

        assert listed(incomplete="any") == {"a", "b"} and listed(incomplete="none") == {"c"}
        assert listed(incomplete="no_answer") == {"a"} and listed(incomplete="any", exporter="tests") == {"b"}
        assert server.get("/api/v1/traces", params={"incomplete": "nonsense"}).status_code == 400
        (why,) = server.get(f"/api/v1/traces/{'a' * 32}/explain").json()
        assert why["exporter"] == "opentelemetry.instrumentation.openai_v2"
    listed_here = run(tmp_path, "traces", "list", "--incomplete", "no_interaction", "--json").json
    assert [each["id"][0] for each in listed_here["traces"]] == ["b"]
