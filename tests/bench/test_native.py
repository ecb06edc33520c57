"""Providers by their own protocols, with their real clients over real HTTP: answers, tools, usage, failures, judging."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from evergold.bench.metrics import make_metric, measure
from evergold.bench.replay import ReplayTarget
from evergold.calls.targets import make_target
from evergold.errors import Unavailable
from evergold.judge.names import make_judge
from evergold.model.case import Case, Context
from evergold.model.run import Attempt, Measurement, MeasurementState, Replay, Usage
from evergold.model.tool_calls import ToolCall
from evergold.settings import Settings
from tests.builders import a_case, an_attempt
from tests.native_servers import AnthropicServer, GoogleServer, texts_of
from tests.openai_server import Body, Reply, Script, ScriptedServer, broken, rate_limited, started
from tests.replays import flight_case

# google-genai 3.1 has a bad escape in a docstring, which is a warning whenever it is compiled.
pytestmark = pytest.mark.filterwarnings("ignore:invalid escape sequence")

LOOKUP = {
    "type": "function",
    "function": {"name": "lookup", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
CASE = a_case(input="capital of Peru?", expected="Lima", contexts=(Context(text="Lima is the capital of Peru."),))


@dataclass(frozen=True)
class Provider:
    name: str
    variable: str
    make: Callable[[Script], ScriptedServer]

    @property
    def model(self) -> str:
        return f"{self.name}/scripted-1"


PROVIDERS = (
    Provider("anthropic", "ANTHROPIC_BASE_URL", AnthropicServer),
    Provider("google", "GOOGLE_GEMINI_BASE_URL", GoogleServer),
    Provider("mistral", "MISTRAL_BASE_URL", ScriptedServer),
)


@dataclass
class Native:
    provider: Provider
    monkeypatch: pytest.MonkeyPatch

    def at(self, server: ScriptedServer) -> None:
        self.monkeypatch.setenv(self.provider.variable, server.url.removesuffix("/v1"))

    def attempt(self, script: Script, case: Case = CASE, **params: Any) -> tuple[Attempt, ScriptedServer]:
        async def work() -> Attempt:
            target: Any = make_target(self.provider.model, params, Settings())
            try:
                made: Attempt = await target.attempt(case, 0, 7)
                return made
            finally:
                await target.close()

        with started(self.provider.make(script)) as server:
            self.at(server)
            return asyncio.run(work()), server

    def judged(self, metric: str, script: Script) -> tuple[Measurement, ScriptedServer]:
        async def work() -> Measurement:
            judge: Any = make_judge(self.provider.model, Settings())
            try:
                return await measure(make_metric(metric), CASE, an_attempt(output="It is Lima."), judge)
            finally:
                await judge.close()

        with started(self.provider.make(script)) as server:
            self.at(server)
            return asyncio.run(work()), server


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def native(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Native]:
    for provider in PROVIDERS:
        monkeypatch.delenv(f"{provider.name.upper()}_API_KEY", raising=False)
    yield Native(request.param, monkeypatch)


def answer(value: dict[str, Any]) -> Reply:
    return Reply(None, tool_calls=(("give_answer", value),))


def test_an_answer_with_its_usage_and_tool_calls(native: Native) -> None:
    case = CASE.model_copy(update={"tools": (LOOKUP,)})
    reply = Reply("Lima", tool_calls=(("lookup", {"city": "Lima"}),), usage=(11, 4))
    made, server = native.attempt(reply, case, temperature=0.2, system="Be brief.")
    assert (made.error, made.output, made.tool_calls) == (
        None,
        "Lima",
        (ToolCall(name="lookup", args={"city": "Lima"}),),
    )
    assert made.usage == Usage(input_tokens=11, output_tokens=4, cost=None)
    sent = texts_of(server.requests[0])
    assert "capital of Peru?" in sent and "Be brief." in sent and "lookup" in sent
    assert 0.2 in _numbers(server.requests[0])


@pytest.mark.parametrize(
    ("reply", "error_class"),
    [
        (rate_limited(3), "rate_limit"),
        (broken(503), "server"),
        (Reply(status=401, raw=b'{"error": {"type": "authentication_error", "message": "bad key"}}'), "auth"),
        (Reply(status=404, raw=b'{"error": {"type": "not_found_error", "message": "no such model"}}'), "unknown_model"),
        (Reply(status=400, raw=b'{"error": {"type": "invalid_request_error", "message": "odd"}}'), "bad_request"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_failed_call_is_an_error_with_its_class_and_is_sent_once(
    native: Native, reply: Reply, error_class: str
) -> None:
    made, server = native.attempt(reply)
    assert made.error_class == error_class and made.error
    assert len(server.requests) == 1
    assert made.retry_after == (3 if error_class == "rate_limit" else None)


def test_a_server_that_is_not_there_is_a_connection_error(native: Native) -> None:
    with started(native.provider.make(Reply("x"))) as server:
        native.at(server)
    target: Any = make_target(native.provider.model, {}, Settings())
    made = asyncio.run(target.attempt(CASE, 0, None))
    assert made.error_class == "connection"


def test_html_instead_of_an_answer_is_an_error(native: Native) -> None:
    made, _ = native.attempt(Reply(raw=b"<html>busy</html>", content_type="text/html"))
    assert made.error is not None and made.output == ""


def test_a_grade_is_read_from_the_answer_tool(native: Native) -> None:
    made, server = native.judged("correctness", answer({"reason": "right", "score": 9}))
    assert (made.value, made.reason) == (0.9, "right")
    assert (made.usage.input_tokens, made.usage.output_tokens) == (10, 5)
    assert "give_answer" in texts_of(server.requests[0])
    assert made.details["judge_ms"] > 0


def test_verdicts_with_the_wrong_ids_get_one_repair(native: Native) -> None:
    claims = answer({"claims": ["It is Lima."]})
    wrong = answer({"verdicts": [{"id": 2, "reason": "r", "verdict": "supported"}]})
    right = answer({"verdicts": [{"id": 1, "reason": "r", "verdict": "supported"}]})
    made, server = native.judged("faithfulness", [claims, wrong, right])
    assert (made.value, len(server.requests)) == (1.0, 3)
    never, _ = native.judged("faithfulness", [claims, wrong])
    assert never.state is MeasurementState.UNSCORED and "after one repair" in (never.reason or "")


def test_prose_and_a_cut_reply_are_unscored_and_never_zero(native: Native) -> None:
    prose, server = native.judged("correctness", Reply("I would say it is quite good."))
    assert (prose.state, prose.value) == (MeasurementState.UNSCORED, None)
    assert len(server.requests) == 2
    cut, _ = native.judged("correctness", Reply('{"reason": "it is', finish_reason="length"))
    assert cut.state is MeasurementState.UNSCORED and "cut off" in (cut.reason or "")


def test_a_bad_moment_is_waited_out_and_a_wrong_key_is_an_error(native: Native) -> None:
    made, server = native.judged("correctness", [rate_limited(0), answer({"reason": "r", "score": 5})])
    assert (made.value, len(server.requests)) == (0.5, 2)
    refused, _ = native.judged("correctness", Reply(status=401, raw=b'{"error": {"message": "bad key"}}'))
    assert refused.state is MeasurementState.ERROR and "auth" in (refused.reason or "")


def test_without_a_key_it_says_what_to_set(native: Native) -> None:
    native.monkeypatch.delenv(native.provider.variable, raising=False)
    with pytest.raises(Unavailable, match=f"set .*_API_KEY, or {native.provider.variable}"):
        make_target(native.provider.model, {}, Settings())


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return [number for item in items for number in _numbers(item)]
    return [value] if isinstance(value, int | float) else []


def tool_results(provider: str, body: Body) -> list[tuple[str, str]]:
    """Results of tools in the last messages of a request, in the provider's own shape: (id of the call or name, text)."""
    if provider == "anthropic":
        parts = [part for part in body["messages"][-1]["content"] if part["type"] == "tool_result"]
        return [(part["tool_use_id"], texts_of(part["content"])) for part in parts]
    if provider == "google":
        responses = [part["functionResponse"] for part in body["contents"][-1]["parts"]]
        return [(one["name"], texts_of(one["response"])) for one in responses]
    return [(one["tool_call_id"], texts_of(one["content"])) for one in body["messages"] if one["role"] == "tool"][1:]


def test_a_replay_sends_recorded_results_in_the_shape_of_the_provider(native: Native) -> None:
    names = ("find", "cancel", "refund")
    tools = tuple({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names)
    script = [
        Reply("", tool_calls=(("find", {"id": "AB12"}),)),
        Reply("One moment.", tool_calls=(("cancel", {"id": "AB12"}), ("refund", {"id": "AB12", "amount": 120}))),
        Reply("Done."),
    ]

    async def play() -> Attempt:
        target = ReplayTarget(make_target(native.provider.model, {}, Settings()), Replay())
        try:
            return await target.attempt(flight_case(tools=tools), 0, None)
        finally:
            await target.close()

    with started(native.provider.make(script)) as server:
        native.at(server)
        made = asyncio.run(play())
    assert (made.error, made.output, made.metadata["replay"]["calls"]) == (None, "Done.", ["recorded"] * 3)
    assert [call.result for call in made.tool_calls] == ["open", "cancelled", "refunded"]
    assert (made.usage.input_tokens, len(server.requests)) == (30, 3)
    sent = tool_results(native.provider.name, server.requests[2])
    assert ["cancelled" in text for _, text in sent] == [True, False] and "refunded" in sent[1][1]
    ids = [call.id for call in made.tool_calls[1:]] if native.provider.name != "google" else ["cancel", "refund"]
    assert [id for id, _ in sent] == ids
