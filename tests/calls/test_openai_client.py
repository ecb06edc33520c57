"""Calls of an OpenAI-compatible endpoint over real HTTP: what is sent, what comes back, and every way to fail."""

import asyncio
import threading
from typing import Any

import pytest

from evergold.calls.caller import CallFailure
from evergold.calls.endpoints import Endpoint, OpenAIClient, first_choice, tool_functions
from tests.openai_server import Reply, serving
from tests.rows import each_row

BODY = {"model": "m", "messages": [{"role": "user", "content": "ähm 漢"}]}


def counts_of(reply: object) -> tuple[int, int]:
    usage = Endpoint("m", "http://x", "k").usage(reply)
    return usage.input_tokens, usage.output_tokens


def posted(url: str, body: dict[str, Any] = BODY, timeout: float | None = None) -> Any:
    async def call() -> Any:
        client = OpenAIClient(Endpoint("m", url, "secret"), timeout)
        try:
            return await client.post("/chat/completions", body)
        finally:
            await client.close()

    return asyncio.run(call())


def test_a_request_carries_the_key_and_the_account_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    with serving(Reply("ok")) as server:
        choice = first_choice(posted(server.url))
    assert choice is not None and choice["message"]["content"] == "ok"
    assert server.requests == [BODY]
    headers = server.headers[0]
    assert headers["authorization"] == "Bearer secret"
    assert (headers["openai-organization"], headers["openai-project"]) == ("org-1", "proj-1")


@each_row(
    ("reply", "error_class", "words"),
    [
        (Reply(status=400, raw=b'{"error": {"message": "bad", "param": "logprobs"}}'), "bad_request", "logprobs"),
        (Reply(status=400, raw=b'{"error": "plain"}'), "bad_request", "HTTP 400: plain"),
        (Reply(status=400, raw=b'{"message": "top"}'), "bad_request", "HTTP 400: top"),
        (Reply(status=502, raw=b"<h1>Bad Gateway</h1>", content_type="text/html"), "server", "Bad Gateway"),
        (Reply(status=500, raw=b""), "server", "HTTP 500: no reason given"),
        (Reply(status=500, raw=b"[" * 100_000), "server", "HTTP 500"),
        (Reply(status=429, raw=b'{"error": {"code": "insufficient_quota", "message": "x"}}'), "quota", "x"),
        (Reply(raw=b'{"choices": [{"mess'), "malformed", "not valid JSON"),
        (Reply(raw=b"[" * 100_000), "malformed", "not valid JSON"),
        (Reply(drop_connection=True), "connection", "Connection error"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else None,
)
def test_each_failure_has_a_class_and_the_endpoints_own_words(reply: Reply, error_class: str, words: str) -> None:
    with serving(reply) as server, pytest.raises(CallFailure) as failed:
        posted(server.url)
    assert failed.value.error_class == error_class and words in str(failed.value)
    assert failed.value.status == (reply.status if reply.status != 200 else None)
    assert len(server.requests) == 1


def test_no_server_and_no_answer_are_failures_of_their_own() -> None:
    with pytest.raises(CallFailure, match="Connection error") as refused:
        posted("http://127.0.0.1:9/v1")
    assert refused.value.error_class == "connection"
    hold = threading.Event()
    with serving(Reply(hold=hold)) as server:
        with pytest.raises(CallFailure) as late:
            posted(server.url, timeout=0.05)
        hold.set()
    assert late.value.error_class == "timeout"


def test_a_request_that_is_no_json_is_refused_before_it_is_sent() -> None:
    with pytest.raises(CallFailure, match="cannot be sent as JSON") as failed:
        posted("http://127.0.0.1:9/v1", {"model": "m", "temperature": float("nan")})
    assert failed.value.error_class == "bad_request"


@each_row("reply", [None, "text", [], {}, {"choices": 5}, {"choices": [5]}, {"choices": [{}]}])
def test_what_is_no_completion_has_no_choice_and_no_tokens(reply: Any) -> None:
    assert first_choice(reply) is None and counts_of(reply) == (0, 0)


@each_row(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4)),
        ({"prompt_tokens": 3}, (3, 0)),
        ({"prompt_tokens": None, "completion_tokens": "4"}, (0, 0)),
        ({"prompt_tokens": -1, "completion_tokens": 2}, (0, 2)),
        (5, (0, 0)),
    ],
)
def test_tokens_are_counted_as_far_as_they_are_known(usage: Any, counts: tuple[int, int]) -> None:
    assert counts_of({"usage": usage}) == counts


def test_tool_calls_of_any_shape_are_read_or_left_out() -> None:
    calls = [{"function": {"name": "f", "arguments": "{}"}}, {"function": None}, 5, {"id": "x"}]
    assert tool_functions({"tool_calls": calls}) == [{"name": "f", "arguments": "{}"}]
    assert tool_functions({"tool_calls": "no"}) == [] == tool_functions({})
