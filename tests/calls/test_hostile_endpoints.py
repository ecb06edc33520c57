"""Endpoints that misbehave on the wire: each call ends, in one line, without a score, and the key goes to nobody else."""

import asyncio
import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from evergold.bench.metrics.judged import Correctness
from evergold.bench.model_judges import JudgeLimits, OpenAIJudge, read_reply
from evergold.calls import endpoints as openai_client
from evergold.calls.caller import CallFailure
from evergold.calls.embeddings import EmbeddingTarget, case_of
from evergold.calls.endpoints import Endpoint, OpenAIClient, parse_object
from evergold.errors import Unavailable
from evergold.model.run import Attempt, MeasurementState
from evergold.sdk import connect
from tests.builders import a_case
from tests.openai_server import Reply, serving
from tests.patience import PATIENCE
from tests.rows import each_row

Answer = Callable[[socket.socket], None]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PIECE = b" " * (1 << 16)


class Raw:
    """A server whose answers are written byte by byte; keeps what it was sent."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.ended = threading.Event()
        self.received: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._one, args=(client,), daemon=True).start()

    def _one(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            self.received.append(client.recv(1 << 16))
            self._answer(client)

    def close(self) -> None:
        self.ended.set()
        self._socket.close()


@contextmanager
def answering(answer: Answer | bytes) -> Iterator[Raw]:
    server = Raw(answer if callable(answer) else lambda client: client.sendall(answer))
    try:
        yield server
    finally:
        server.close()


def endless(client: socket.socket) -> None:
    client.sendall(HEAD + b"\r\n{")
    while True:
        client.sendall(PIECE)


def drip(client: socket.socket) -> None:
    client.sendall(HEAD + b"\r\n")
    never = threading.Event()
    while not never.wait(0.01):
        client.sendall(b" ")


def silent(client: socket.socket) -> None:
    while client.recv(1 << 16):
        pass


def head_only(client: socket.socket) -> None:
    client.sendall(HEAD + b"Content-Length: 100\r\n\r\n")
    silent(client)


def bomb(client: socket.socket) -> None:
    packed = gzip.compress(b" " * (32 << 20))
    client.sendall(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)


def failure(url: str, timeout: float | None = None) -> CallFailure:
    async def call() -> Any:
        client = OpenAIClient(Endpoint("m", f"{url}/v1", "secret"), timeout)
        try:
            return await client.post("/chat/completions", {"model": "m"})
        finally:
            await client.close()

    with pytest.raises(CallFailure) as failed:
        asyncio.run(asyncio.wait_for(call(), PATIENCE))
    assert "\n" not in str(failed.value)
    return failed.value


@pytest.mark.parametrize("answer", [endless, bomb])
def test_a_reply_is_given_up_when_it_is_too_large(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_client, "MOST_BYTES", 1 << 20)
    with answering(answer) as server:
        assert failure(server.url).error_class == "too_large"


@each_row("answer", [drip, silent, head_only])
def test_a_reply_that_does_not_come_to_an_end_is_a_timeout(answer: Answer) -> None:
    with answering(answer) as server:
        assert failure(server.url, 0.3).error_class == "timeout"


@each_row("status", [301, 302, 303, 307, 308])
def test_neither_key_nor_prompt_goes_to_another_server(status: int) -> None:
    with answering(HEAD + b"\r\n{}") as other:
        sent_on = f"HTTP/1.1 {status} Go\r\nLocation: {other.url}/v1/x\r\nContent-Length: 0\r\n\r\n".encode()
        with answering(sent_on) as server:
            failed = failure(server.url)
        assert (failed.error_class, failed.status) == ("bad_request", status)
        assert other.received == []


def test_another_path_of_the_same_server_is_followed_and_not_for_ever() -> None:
    with answering(b"HTTP/1.1 307 Go\r\nLocation: /v1/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as server:
        assert "on and on" in str(failure(server.url))
        assert 1 < len(server.received) <= openai_client.MOST_REDIRECTS


@each_row(
    "body",
    [b"\xff\xfe\x00", b'{"choices": ' + b"9" * 5000 + b"}", b"{" * 100_000, b"", b'{"choices": [{"message": 5}]}'],
)
def test_what_is_no_chat_completion_is_an_error_and_no_score(body: bytes) -> None:
    judge_says(Reply(raw=body), MeasurementState.ERROR)


@each_row(
    "score",
    ["NaN", "Infinity", "-Infinity", "1e999", "-1", "9" * 400, "9" * 5000, '"8"', "true", "null", "[8]", "8.5e3"],
)
def test_a_grade_that_is_no_grade_is_unscored(score: str) -> None:
    judge_says(Reply(f'{{"reason": "r", "score": {score}}}'), MeasurementState.UNSCORED)


def judge_says(reply: Reply, state: MeasurementState) -> None:
    async def measured(url: str) -> Any:
        judge = OpenAIJudge(Endpoint("m", url, "secret"), JudgeLimits(timeout=PATIENCE, retries=0))
        try:
            case = a_case(expected="Paris")
            return await Correctness().measure_with(case, Attempt(case_id=case.id, trial=0, output="Paris"), judge)
        finally:
            await judge.close()

    with serving(reply) as server:
        measurement = asyncio.run(measured(server.url))
    assert (measurement.state, measurement.value) == (state, None)


@each_row("logprob", [float("nan"), float("inf"), 10**400, 700, "x", None])
def test_log_probabilities_that_are_none_are_left_out(logprob: Any) -> None:
    top = [{"token": "8", "logprob": logprob}, {"token": 8, "logprob": 0.0}, {"token": "7", "logprob": -0.1}]
    entries = [{"token": "8", "top_logprobs": top}, {"token": None, "top_logprobs": top}]
    completion = {"choices": [{"message": {"content": "8"}, "logprobs": {"content": entries}}]}
    assert read_reply(completion).logprobs == ({"token": "8", "top": [["7", -0.1]]},)


def test_counts_beyond_any_count_are_unknown() -> None:
    endpoint = Endpoint("m", "http://x", "k")
    large = endpoint.usage({"usage": {"prompt_tokens": 10**30, "completion_tokens": 7}})
    assert (large.input_tokens, large.output_tokens) == (0, 7)
    odd = endpoint.usage({"usage": {"prompt_tokens": float("nan"), "completion_tokens": "7"}})
    assert (odd.input_tokens, odd.output_tokens) == (0, 0)


@each_row("text", ['{"a": ' + "9" * 5000 + "}", "{" * 100_000, '{"a": "\\ud800'])
def test_an_object_that_cannot_be_read_is_none(text: str) -> None:
    assert parse_object(text) is None


@each_row("number", [float("nan"), float("inf"), 10**400, "1"])
def test_a_vector_of_other_than_numbers_is_malformed(number: Any) -> None:
    target = EmbeddingTarget(Endpoint("m", "http://127.0.0.1:9/v1", "x"))
    attempt = target._read(case_of(["a"]), 0, {"data": [{"index": 0, "embedding": [0.5, number]}]})
    assert attempt.error_class == "malformed"


def test_the_token_of_an_export_goes_to_no_other_server(tmp_path: Path) -> None:
    with answering(b"HTTP/1.1 200 OK\r\n\r\n") as other:
        sent_on = f"HTTP/1.1 302 Go\r\nLocation: {other.url}/\r\nContent-Length: 0\r\n\r\n".encode()
        with answering(sent_on) as server, pytest.raises(Unavailable, match="302"):
            connect(server.url, token="secret").export_jsonl(tmp_path / "cases.jsonl")
        assert other.received == []


@pytest.mark.parametrize(
    "answer", [b"nonsense\r\n\r\n", HEAD + b"\r\n{not json\n", HEAD + b"Content-Length: 99\r\n\r\n{}"]
)
def test_an_export_from_what_is_no_server_is_one_line(tmp_path: Path, answer: bytes) -> None:
    with answering(answer) as server, pytest.raises(Unavailable):
        connect(server.url, token="secret").export_jsonl(tmp_path / "cases.jsonl")
