"""Apps of one's own under replay: their code runs, their tool calls are answered from the record."""

import asyncio
import json
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evergold import replay
from evergold.bench.targets.programs import CommandTarget, HttpTarget, PythonTarget
from evergold.model.run import OnUnrecorded
from evergold.seams import Target
from tests.replays import flight_case, played

EFFECTS: list[str] = []


@replay.tool
def find(id: str) -> str:
    EFFECTS.append(id)
    return "from the database"


@replay.tool(name="cancel")
def cancel_reservation(id: str) -> str:
    EFFECTS.append(id)
    return "really cancelled"


@replay.tool
async def refund(id: str, amount: float) -> dict[str, Any]:
    EFFECTS.append(id)
    return {"refunded": amount}


def app(messages: list[dict[str, Any]]) -> str:
    """An app with its own loop: it looks, cancels, and says what it saw."""
    return f"{find('AB12')}, {cancel_reservation(id='AB12')}"


async def async_app(messages: list[dict[str, Any]]) -> str:
    return f"{find('AB12')}, {await refund('AB12', amount=120)}"


def function(target: Any) -> Target:
    return PythonTarget("app", target, {})


@pytest.fixture(autouse=True)
def no_effects() -> Iterator[None]:
    EFFECTS.clear()
    yield
    assert EFFECTS == []


def test_the_code_of_a_python_app_runs_and_its_tools_answer_from_the_record() -> None:
    attempt = played(function(app))
    assert attempt.output == "open, cancelled"
    assert [(one.name, one.result) for one in attempt.tool_calls] == [("find", "open"), ("cancel", "cancelled")]
    roles = [message["role"] for message in attempt.metadata["trajectory"]]
    assert roles == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert attempt.metadata["replay"]["steps"] == 3


def test_an_async_app_may_mix_plain_and_async_tools() -> None:
    assert played(function(async_app)).output == "open, refunded"


def test_an_app_that_asks_the_callback_by_name() -> None:
    def asks(messages: list[Any], call_tool: Any) -> str:
        return str(call_tool("find", {"id": "AB12"}))

    async def asks_async(messages: list[Any], call_tool: Any) -> str:
        return str(await call_tool("find", {"id": "AB12"}))

    assert played(function(asks)).output == played(function(asks_async)).output == "open"


def test_an_unrecorded_call_of_an_app_stops_the_trajectory_whatever_the_app_does_next() -> None:
    def stubborn(messages: list[Any]) -> str:
        with suppress(replay.Stopped):
            find("ZZ99")
        return "I made something up"

    attempt = played(function(stubborn))
    assert attempt.error is None and attempt.output == ""
    assert "find" in attempt.metadata["replay"]["stopped"] and attempt.metadata["replay"]["calls"] == ["none"]


def test_an_unrecorded_call_can_be_an_error_that_the_app_handles() -> None:
    def careful(messages: list[Any]) -> str:
        try:
            return str(find("ZZ99"))
        except replay.ToolFailed:
            return "I could not look."

    attempt = played(function(careful), on_unrecorded=OnUnrecorded.ERROR)
    assert attempt.output == "I could not look." and attempt.tool_calls[0].failed


def test_an_app_that_calls_for_ever_is_ended_by_the_limit() -> None:
    def endless(messages: list[Any]) -> str:
        while True:
            find("AB12")

    attempt = played(function(endless), max_steps=7)
    assert attempt.metadata["replay"]["ended"] == "step_limit" and len(attempt.tool_calls) == 7


def test_calls_from_several_threads_are_all_answered() -> None:
    def busy(messages: list[Any], call_tool: Any) -> str:
        from contextvars import copy_context

        threads = [threading.Thread(target=copy_context().run, args=(find, "AB12")) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return "Done."

    attempt = played(function(busy))
    assert [one.result for one in attempt.tool_calls] == ["open"] * 5


def test_a_command_finds_the_replay_in_its_environment(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(
        "import json, sys\nfrom evergold import replay\n\n@replay.tool\ndef find(id: str) -> str:\n"
        "    raise SystemExit('the real tool was called')\n\n"
        "asked = json.load(sys.stdin)\nassert asked['tools_url'].startswith('http://127.0.0.1:')\nprint(find(id='AB12'))\n"
    )
    attempt = played(CommandTarget([sys.executable, str(program)], {}))
    assert (attempt.error, attempt.output) == (None, "open")
    assert [one.name for one in attempt.tool_calls] == ["find"]


class AppOverHttp(BaseHTTPRequestHandler):
    """An app behind HTTP that takes the address of the tools from the request."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with replay.session(asked["tools_url"]):
            text = find("AB12")
        body = json.dumps({"output": text}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


def test_an_http_app_asks_at_the_address_it_is_sent() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), AppOverHttp)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        attempt = played(HttpTarget(f"http://127.0.0.1:{server.server_address[1]}/", {}))
    finally:
        server.shutdown()
        server.server_close()
    assert (attempt.error, attempt.output) == (None, "open")
    assert [one.result for one in attempt.tool_calls] == ["open"]


def test_the_address_answers_bad_requests_and_strangers_with_a_reason() -> None:
    seen: list[int] = []

    def ask(url: str, body: bytes) -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(url, body, method="POST"), timeout=30)
        except urllib.error.HTTPError as problem:
            seen.append(problem.code)

    def curious(messages: list[Any]) -> str:
        session = replay.current.get()
        assert session is not None
        url = session.url()
        for body in (b"no json", b"[]", b'{"args": {}}', b'{"name": "find", "args": [1]}'):
            ask(url, body)
        ask(f"{url.rpartition('/')[0]}/guess", b'{"name": "find"}')
        ask(url, b'{"name": "unknown"}')
        return "Done."

    played(function(curious))
    assert seen == [400, 400, 400, 400, 404, 410]


def test_outside_of_a_replay_a_tool_is_the_function_itself() -> None:
    @replay.tool
    def add(one: int, other: int = 2) -> int:
        return one + other

    @replay.tool("twice")
    async def double(number: int) -> int:
        return 2 * number

    assert add(1) == 3 and asyncio.run(double(4)) == 8 and not replay.active()
    with pytest.raises(RuntimeError, match="no replay is under way"):
        replay.call("add", {})


def test_methods_and_keywords_are_sent_by_name_and_json_results_are_read() -> None:
    class Desk:
        @replay.tool
        def find(self, **fields: Any) -> dict[str, Any]:
            raise AssertionError

    case = flight_case()
    turn = tuple(
        {**one, "content": '{"status": "open"}'} if one.get("tool_call_id") == "1" else one for one in case.turn
    )
    asked = function(lambda messages: Desk().find(id="AB12")["status"])
    assert played(asked, case.model_copy(update={"turn": turn})).output == "open"
