"""Targets: each kind answers, and each way to fail becomes an error class with a line that says why."""

import asyncio
import json
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from evergold.calls.targets import make_target, parse_name, refuse_remote
from evergold.errors import BadInput, Refused, Unavailable
from evergold.model.case import Case, CaseKind
from evergold.model.run import Attempt
from evergold.model.tool_calls import ToolCall
from evergold.settings import Settings
from tests.builders import a_case
from tests.openai_server import Reply, Script, broken, rate_limited, serving
from tests.patience import PATIENCE
from tests.rows import each_row

QUESTION = a_case(id="q", kind=CaseKind.TASK, input="capital of France?", output=None)


def attempt_at(model: str, case: Case = QUESTION, params: Mapping[str, Any] | None = None, url: str = "") -> Attempt:
    async def once() -> Attempt:
        target = make_target(model, params or {}, Settings(model_base_url=url, benchmark_timeout=PATIENCE))
        try:
            return await target.attempt(case, 0, 7)
        finally:
            if hasattr(target, "close"):
                await target.close()

    return asyncio.run(once())


def attempt_scripted(script: Script, case: Case = QUESTION, **params: Any) -> Attempt:
    with serving(script) as server:
        return attempt_at("openai/gpt-4o", case, params, server.url)


def test_an_answer_with_its_usage_and_tool_calls() -> None:
    reply = Reply("Paris", tool_calls=(("look_up", {"city": "Paris"}),), usage=(12, 3), finish_reason="tool_calls")
    attempt = attempt_scripted(reply)
    assert attempt.output == "Paris" and attempt.error is None
    assert attempt.tool_calls == (ToolCall(name="look_up", args={"city": "Paris"}),)
    assert (attempt.usage.input_tokens, attempt.usage.output_tokens) == (12, 3)
    assert attempt.usage.cost is None, "nobody knows what a server of one's own charges"


def test_the_prompt_the_tools_the_seed_and_the_parameters_are_sent() -> None:
    tools = ({"type": "function", "function": {"name": "look_up"}},)
    with serving() as server:
        case = a_case(id="q", kind=CaseKind.TASK, input="word for word\n", tools=tools)
        attempt_at("openai/meta/llama-3", case, {"temperature": 0.5, "system": "Be brief."}, server.url)
        assert server.requests == [
            {
                "model": "meta/llama-3",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "word for word\n"},
                ],
                "temperature": 0.5,
                "tools": list(tools),
                "seed": 7,
            }
        ]


def test_passages_are_sent_where_the_answer_must_rest_on_them() -> None:
    contexts = ({"text": "Paris is the capital."},)
    with serving() as server:
        attempt_at("openai/m", a_case(kind="qa", contexts=contexts), url=server.url)
        attempt_at("openai/m", a_case(kind="task", contexts=contexts), url=server.url)
        attempt_at("openai/m", a_case(kind="task", contexts=contexts), {"send_context": True}, server.url)
        assert ["Paris is the capital." in prompt for prompt in server.prompts()] == [True, False, True]


@each_row(
    ("reply", "error_class", "says"),
    [
        (rate_limited(3), "rate_limit", "rate limit reached"),
        (broken(503), "server", "had an error"),
        (broken(401), "auth", "had an error"),
        (broken(404), "unknown_model", "had an error"),
        (broken(400), "bad_request", "had an error"),
        (Reply(status=429, raw=b'{"error":{"message":"pay","code":"insufficient_quota"}}'), "quota", "pay"),
        (Reply(raw=b"<html>hello</html>", content_type="text/html"), "malformed", "<html>hello</html>"),
        (Reply(raw=b'{"id": "x", "choi'), "malformed", "not valid JSON"),
        (Reply(raw=b'{"id": "x", "choices": []}'), "malformed", "did not answer with a chat completion"),
        (Reply("x" * 10_000_000), "too_large", "answered 10,000,000 characters"),
        (Reply(drop_connection=True), "connection", "Connection error"),
    ],
)
def test_a_failed_call_is_an_error_with_its_class(reply: Reply, error_class: str, says: str) -> None:
    attempt = attempt_scripted(reply)
    assert attempt.error_class == error_class
    assert attempt.output == "" and says in (attempt.error or "")


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    assert attempt_scripted(rate_limited(3)).retry_after == 3.0
    assert attempt_scripted(rate_limited("Wed, 21 Oct 2015 07:28:00 GMT")).retry_after == 0.0
    assert attempt_scripted(rate_limited("soon")).retry_after is None


def test_nothing_is_no_answer_and_half_an_emoji_can_be_stored() -> None:
    assert attempt_scripted(Reply(None)).error_class == "no_answer"
    half = attempt_scripted(Reply(raw=b'{"choices":[{"index":0,"message":{"role":"assistant","content":"a\\ud83d"}}]}'))
    assert half.output == "a�"


def test_arguments_that_are_no_json_object_are_an_error() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "[1"}}
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    attempt = attempt_scripted(Reply(raw=json.dumps(body).encode()))
    assert attempt.error_class == "invalid_reply" and "tool call 'f'" in (attempt.error or "")


def test_the_public_api_without_a_key_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(Unavailable, match="set OPENAI_API_KEY"):
        make_target("openai/gpt-4o", {}, Settings())
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert make_target("openai/gpt-4o", {}, Settings()).identity == "openai/gpt-4o"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/")
    assert make_target("openai/gpt-4o", {}, Settings()).identity == "openai/gpt-4o at http://127.0.0.1:9/v1"


def test_prices_of_the_public_api_are_known() -> None:
    public: Any = make_target("openai/gpt-4o", {}, Settings(model_api_key="k"))
    own: Any = make_target("openai/gpt-4o", {}, Settings(model_base_url="http://127.0.0.1:9"))
    assert public.priced and not own.priced


@each_row("model", ["gpt-4o", "opnai/gpt-4o", "", "../etc/passwd", "nobody:x"])
def test_an_unknown_model_lists_the_valid_ones(model: str) -> None:
    with pytest.raises(BadInput, match=r"valid: anthropic, command, google, http, https, local, mistral, openai"):
        parse_name(model)


@each_row("model", ["openai/", "openai", "local: ", "python:", "recorded/"])
def test_a_model_without_its_name_is_refused_before_a_run(model: str) -> None:
    with pytest.raises(BadInput, match="does not say which; write for example"):
        parse_name(model)


@each_row("model", ["command:rm -rf /", "python:os:getcwd", "http://169.254.169.254/", "https://x"])
def test_a_client_over_the_network_names_no_program_or_address(model: str) -> None:
    with pytest.raises(Refused, match="only taken from the command line"):
        refuse_remote(model)


PROGRAM = """\
import json, sys
asked = json.load(sys.stdin)
if asked["input"] == "crash": sys.exit("it broke")
print(json.dumps({"output": asked["input"].upper(), "tool_calls": [{"name": "f", "args": {"trial": asked["trial"]}}]}))
"""


def test_a_program_answers_with_json(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(PROGRAM)
    model = f"command:{sys.executable} {tmp_path / 'answer.py'}"
    attempt = attempt_at(model)
    assert attempt.output == "CAPITAL OF FRANCE?"
    assert attempt.tool_calls == (ToolCall(name="f", args={"trial": 0}),)
    crashed = attempt_at(model, a_case(input="crash"))
    assert (crashed.error_class, crashed.error) == ("target", "exit code 1: it broke")


@each_row("command", ["sleep 1; cat", "cat | tail -1", "cat && true", "cat > out", "a.py & b.py"])
def test_a_command_for_a_shell_is_refused_before_the_run(command: str) -> None:
    with pytest.raises(BadInput, match=r"without a shell, which would read .*; write command:sh -c"):
        make_target(f"command:{command}", {}, Settings())


def test_a_shell_may_be_the_program_and_quoted_signs_are_words() -> None:
    assert attempt_at("command:sh -c 'cat > /dev/null; echo one | tail -1'").output == "one"
    assert attempt_at("command:echo --between='a|b' 1>0").output == "--between=a|b 1>0"


def test_the_reason_of_a_program_is_not_the_name_of_its_help() -> None:
    failing = attempt_at("command:sh -c 'echo sleep: invalid time >&2; echo \"Try sleep --help\" >&2; exit 1'")
    assert failing.error == "exit code 1: sleep: invalid time"


def test_a_program_answers_with_text_or_is_not_there() -> None:
    assert attempt_at("command:echo just text").output == "just text"
    assert attempt_at("command:/nowhere/program").error_class == "unknown_model"
    with pytest.raises(BadInput, match="does not say which"):
        make_target("command:", {}, Settings())


FUNCTIONS = """\
async def later(prompt): return prompt.upper()
def now(case): return {"output": case.id, "usage": {"input_tokens": 1, "output_tokens": 2}}
def broken(prompt): raise KeyError("no such city")
def odd(prompt): return 42
def typo(prompt): return {"outptu": "x"}
"""


def test_functions_plain_and_async(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_app.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    assert attempt_at("python:their_app:later").output == "CAPITAL OF FRANCE?"
    assert attempt_at("python:their_app:now").usage.output_tokens == 2
    assert attempt_at("python:their_app:broken").error == "KeyError: 'no such city'"
    assert "got int" in (attempt_at("python:their_app:odd").error or "")
    assert "unknown field 'outptu'; valid are output" in (attempt_at("python:their_app:typo").error or "")
    with pytest.raises(BadInput, match="unknown function 'latr'; did you mean 'later'"):
        make_target("python:their_app:latr", {}, Settings())
    with pytest.raises(BadInput, match="cannot import 'no_such_app'"):
        make_target("python:no_such_app:f", {}, Settings())


def test_what_was_recorded_is_the_answer() -> None:
    assert attempt_at("recorded", a_case(output="Lima.")).output == "Lima."
    assert attempt_at("recorded", a_case(output=None)).error_class == "nothing_recorded"


class TheirServer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, kind, body = {
            "/json": (200, "application/json", json.dumps({"output": asked["input"].upper()})),
            "/text": (200, "text/plain", "plain"),
            "/html": (200, "text/html", "<p>login"),
            "/busy": (429, "text/plain", "slow down"),
        }[self.path]
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("retry-after", "2")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        pass


def test_an_http_application() -> None:
    server = HTTPServer(("127.0.0.1", 0), TheirServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        assert attempt_at(f"http:{url}/json").output == "CAPITAL OF FRANCE?"
        assert attempt_at(f"{url}/text").output == "plain"
        assert "HTML page" in (attempt_at(f"{url}/html").error or "")
        busy = attempt_at(f"{url}/busy")
        assert (busy.error_class, busy.retry_after) == ("rate_limit", 2.0)
    finally:
        server.shutdown()
        server.server_close()
    assert attempt_at(f"{url}/json").error_class == "connection"
    with pytest.raises(BadInput, match="is not a URL"):
        make_target("http:nowhere", {}, Settings())
