"""A model as judge, over real HTTP with the official client: what counts as an answer, and what never does."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

from evergold.bench.metrics import make_metric, measure
from evergold.bench.model_judges import JudgeLimits, OpenAIJudge
from evergold.calls.endpoints import Endpoint
from evergold.model.case import Case, Context
from evergold.model.run import Attempt, Measurement, MeasurementState
from evergold.model.tool_calls import ExpectedTool, ToolCall
from tests.builders import a_case, an_attempt
from tests.openai_server import (
    Reply,
    Script,
    ScriptedServer,
    broken,
    json_reply,
    rate_limited,
    serving,
    token,
    truncated,
)
from tests.patience import PATIENCE
from tests.rows import each_row

CASE = a_case(
    expected="Lima",
    contexts=(
        Context(text="Lima is the capital of Peru."),
        Context(text=None),
        Context(text="Bread is made of flour."),
    ),
)


def judged(
    metric: str, script: Script, case: Case = CASE, attempt: Attempt | None = None, retries: int = 0
) -> tuple[Measurement, ScriptedServer]:
    async def work(server: ScriptedServer) -> Measurement:
        judge = OpenAIJudge(Endpoint("j", server.url, "k"), JudgeLimits(timeout=PATIENCE, retries=retries))
        try:
            return await measure(make_metric(metric), case, attempt or an_attempt(), judge)
        finally:
            await judge.close()

    with serving(script) as server:
        return asyncio.run(work(server)), server


def graded(score: object) -> Reply:
    return json_reply({"reason": "because", "score": score})


def verdicts(*pairs: tuple[int, str]) -> Reply:
    return json_reply({"verdicts": [{"id": number, "reason": "r", "verdict": verdict} for number, verdict in pairs]})


def test_a_grade_is_over_ten_with_its_reason_and_its_tokens() -> None:
    made, server = judged("correctness", graded(7))
    assert (made.value, made.reason, made.details["scoring"]) == (0.7, "because", "raw")
    assert (made.usage.input_tokens, made.usage.output_tokens, made.usage.cost) == (10, 5, None)
    assert made.details["judge_ms"] > 0
    request = server.requests[0]
    assert request["response_format"]["json_schema"]["strict"] is True
    assert "Lima" in request["messages"][1]["content"]


@each_row("score", [15, -1, 11])
def test_a_grade_outside_the_scale_is_unscored_and_not_clamped(score: int) -> None:
    made, server = judged("correctness", graded(score))
    assert (made.state, made.value) == (MeasurementState.UNSCORED, None)
    assert f"scored {score}" in (made.reason or "")
    assert len(server.requests) == 1


def test_probabilities_weigh_the_grade_at_its_place_in_the_json() -> None:
    text = '{"reason": "3 of 4", "score": 8}'
    parts = (
        token('{"reason": "'),
        token("3", ("9", math.log(0.9))),
        token(' of 4", "score": '),
        token(
            "8", ("7", math.log(0.3)), ("10", math.log(0.1)), ("1", math.log(0.004)), ("x", -0.1), logprob=math.log(0.6)
        ),
        token("}"),
    )
    made, server = judged("correctness", Reply(text, logprobs=parts))
    assert made.value == pytest.approx((8 * 0.6 + 7 * 0.3 + 10 * 0.1) / 1.0 / 10)
    assert (made.details["scoring"], made.details["raw"]) == ("weighted", 8)
    assert server.requests[0]["top_logprobs"] == 20


def test_a_grade_in_two_tokens_is_taken_as_it_stands() -> None:
    parts = (token('{"reason": "", "score": '), token("1", ("9", -0.1)), token("0"), token("}"))
    made, _ = judged("correctness", Reply('{"reason": "", "score": 10}', logprobs=parts))
    assert (made.value, made.details["scoring"]) == (1.0, "raw")


def test_three_claims_with_one_verdict_are_never_a_score() -> None:
    claims = json_reply({"claims": ["a", "b", "c"]})
    made, server = judged("faithfulness", [claims, verdicts((1, "supported"))])
    assert (made.state, made.value) == (MeasurementState.UNSCORED, None)
    assert "after one repair" in (made.reason or "") and "ids 1, 2, 3 exactly once" in (made.reason or "")
    assert len(server.requests) == 3
    assert "That answer cannot be used" in server.prompts()[2]
    assert made.usage.input_tokens == 30


def test_one_repair_mends_ids_that_do_not_match() -> None:
    claims = json_reply({"claims": ["a", "b", " "]})
    script = [claims, verdicts((1, "supported"), (1, "supported")), verdicts((2, "not_found"), (1, "supported"))]
    made, _ = judged("faithfulness", script)
    assert made.value == 0.5
    assert made.reason == "not_found: b (r)"


def test_claims_nobody_contradicts_pass_only_in_that_mode() -> None:
    script = [
        json_reply({"claims": ["a", "b", "c"]}),
        verdicts((1, "supported"), (2, "not_found"), (3, "contradicted")),
    ]
    assert judged("faithfulness", script)[0].value == pytest.approx(1 / 3)
    assert judged("faithfulness:mode=non_contradiction", script)[0].value == pytest.approx(2 / 3)


def test_without_claims_or_contexts_there_is_nothing_to_be_faithful_to() -> None:
    assert judged("faithfulness", json_reply({"claims": []}))[0].reason == "the answer makes no claims"
    made, server = judged("faithfulness", json_reply({}), a_case())
    assert (made.state, len(server.requests)) == (MeasurementState.NOT_APPLICABLE, 0)
    assert judged("faithfulness", json_reply({}), attempt=an_attempt(" "))[1].requests == []


def test_relevancy_counts_statements_and_reports_a_refusal() -> None:
    listed = json_reply({"refusal": True, "statements": ["I cannot.", "Peru is in America."]})
    made, _ = judged("answer_relevancy", [listed, verdicts((1, "relevant"), (2, "irrelevant"))])
    assert (made.value, made.details["refusal"]) == (0.5, True)
    assert (made.reason or "").startswith("refusal; irrelevant: Peru")
    empty, _ = judged("answer_relevancy", json_reply({"refusal": False, "statements": []}))
    assert (empty.state, empty.value) == (MeasurementState.SCORED, 0.0)
    assert judged("answer_relevancy", graded(1), attempt=an_attempt(""))[0].value == 0.0


def test_contextual_precision_is_the_average_precision_over_ranks() -> None:
    contexts = tuple(Context(text=text) for text in "abc")
    case = a_case(expected="x", contexts=contexts)
    made, _ = judged("contextual_precision", verdicts((1, "useful"), (2, "not_useful"), (3, "useful")), case)
    assert made.value == pytest.approx((1 + 2 / 3) / 2)
    none, _ = judged("contextual_precision", verdicts((1, "not_useful"), (2, "not_useful")))
    assert none.value == 0.0
    assert judged("contextual_precision", graded(1), a_case(expected="x"))[0].value is None


def test_arguments_that_mean_the_same_count_as_equal() -> None:
    case = a_case(expected_tools=(ExpectedTool(name="f", args={"city": "NYC"}),))
    attempt = an_attempt(tool_calls=(ToolCall(name="f", args={"city": "New York"}), ToolCall(name="g")))
    made, _ = judged("tool_correctness:semantic=true", verdicts((1, "same")), case, attempt)
    assert made.value == pytest.approx(2 / 3)
    other, _ = judged("tool_correctness:semantic=true", verdicts((1, "different")), case, attempt)
    assert (other.value, other.reason) == (0.0, "extra: g; other arguments: f")
    equal, server = judged(
        "tool_correctness:semantic=true",
        broken(),
        case,
        an_attempt(tool_calls=(ToolCall(name="f", args={"city": "NYC"}),)),
    )
    assert (equal.value, server.requests) == (1.0, [])


@each_row(
    ("reply", "reason"),
    [
        (truncated('{"reason": "half'), "cut off at its token limit"),
        (truncated('{"reason": "whole", "score": 9}'), "cut off at its token limit"),
        (Reply(None, finish_reason="content_filter"), "refused"),
        (Reply("I would give it a good mark."), "after one repair: it is not one JSON object"),
        (Reply(""), "after one repair"),
        (json_reply({"score": 7}), "lacks 'reason'"),
        (graded("7"), "must be of type integer"),
        (graded(True), "must be of type integer"),
        (json_reply([1]), "after one repair"),
    ],
)
def test_what_is_no_answer_is_unscored_with_the_reason(reply: Reply, reason: str) -> None:
    made, server = judged("correctness", reply)
    assert (made.state, made.value) == (MeasurementState.UNSCORED, None)
    assert reason in (made.reason or "")
    assert len(server.requests) <= 2


@each_row(
    "reply",
    [broken(), rate_limited(), broken(401), Reply(raw=b"<html>"), Reply(drop_connection=True), Reply(raw=b'{"a": 1}')],
)
def test_a_judge_that_breaks_is_an_error_and_never_a_zero(reply: Reply) -> None:
    made, _ = judged("correctness", reply)
    assert (made.state, made.value) == (MeasurementState.ERROR, None)


def test_a_busy_judge_is_asked_again() -> None:
    made, server = judged("correctness", [rate_limited(0), graded(9)], retries=2)
    assert (made.value, len(server.requests)) == (0.9, 2)


@pytest.mark.parametrize(
    "shown", ['```json\n{"reason": "r", "score": 4}\n```', 'Sure! {"reason": "r", "score": 4} Done.']
)
def test_json_wrapped_in_words_is_still_an_answer(shown: str) -> None:
    assert judged("correctness", Reply(shown))[0].value == 0.4


def refusing(*options: str) -> Callable[[dict[str, Any]], Reply]:
    """An endpoint that knows none of these options of a request."""

    def answer(body: dict[str, Any]) -> Reply:
        for option in options:
            if option in body:
                return Reply(status=400, raw=b'{"error": {"message": "unsupported: %s"}}' % option.encode())
        if "tools" in body:
            return Reply(
                None, tool_calls=(("give_answer", {"reason": "by tool", "score": 6}),), finish_reason="tool_calls"
            )
        return Reply('{"reason": "by text", "score": 6}')

    return answer


@each_row(
    ("options", "reason"),
    [
        (("logprobs",), "by text"),
        (("temperature", "logprobs"), "by text"),
        (("response_format", "logprobs"), "by tool"),
        (("response_format", "tools", "logprobs", "temperature"), "by text"),
    ],
)
def test_the_judge_asks_for_less_until_the_endpoint_understands(options: tuple[str, ...], reason: str) -> None:
    made, server = judged("correctness", refusing(*options))
    assert (made.value, made.reason) == (0.6, reason)
    assert not set(server.requests[-1]) & set(options)


def test_what_an_endpoint_refused_is_not_asked_for_again() -> None:
    async def work(server: ScriptedServer) -> None:
        judge = OpenAIJudge(Endpoint("j", server.url, "k"), JudgeLimits(retries=0))
        for _ in range(3):
            await measure(make_metric("correctness"), CASE, an_attempt(), judge)
        await judge.close()

    with serving(refusing("response_format")) as server:
        asyncio.run(work(server))
    assert [("response_format" in body) for body in server.requests] == [True, False, False, False]


def test_a_request_that_is_wrong_in_itself_ends() -> None:
    made, server = judged("correctness", Reply(status=400, raw=b'{"error": {"message": "context too long"}}'))
    assert made.state is MeasurementState.ERROR
    assert len(server.requests) <= 5
