"""Parts of a benchmark by themselves: matching, grades from probabilities, asking a judge, replies, slots, turns, drafts."""

import asyncio
import math
import tempfile
from itertools import permutations
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.bench.metrics import make_metric, make_metrics, measure, parse_metric
from evergold.bench.metrics.judged import average_precision, value_position, weighted_score
from evergold.bench.metrics.questions import (
    list_question,
    object_schema,
    problem_with,
    verdict_question,
)
from evergold.bench.metrics.text import f_score, words
from evergold.bench.metrics.tools import best_pairs
from evergold.bench.model_judges import EVERYTHING, OpenAIJudge, Reply, read_reply, reduce_abilities, request_options
from evergold.bench.overrun import MOST_OVERRUNS, MetricCall, MetricLimit, Overrun, Slot
from evergold.bench.plan import _members
from evergold.bench.replay.helpers import draft_by_rule
from evergold.bench.replay.play import Play, obstacles, requests_of
from evergold.bench.replay.record import conversation_id, each_turn, loose_key, opening_messages
from evergold.bench.retrieval import files_band, gold_of_row, language_of
from evergold.bench.retrieval_run import line_symbols
from evergold.bench.retrievers import _widen_hits, words_of
from evergold.bench.targets.messages import MAX_OUTPUT, read_answer, read_text_answer
from evergold.calls.endpoints import Endpoint
from evergold.calls.targets import parse_name, refuse_remote
from evergold.errors import BadInput, Refused
from evergold.machine import is_dead, new_owner
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Attempt, Measurement, MeasurementState, Replay, Turns, Usage
from tests.builders import a_case, an_attempt
from tests.rows import each_row

WEIGHTS = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(st.integers(0, 5), min_size=columns, max_size=columns), min_size=1, max_size=4)
)


@settings(max_examples=60, deadline=None)
@given(WEIGHTS)
def test_the_pairs_have_the_greatest_sum_of_all_matchings(weights: list[list[int]]) -> None:
    pairs = best_pairs([[float(weight) for weight in row] for row in weights])
    rows, columns = len(weights), len(weights[0])
    if rows <= columns:
        best = max(sum(weights[i][j] for i, j in enumerate(order)) for order in permutations(range(columns), rows))
    else:
        best = max(sum(weights[i][j] for j, i in enumerate(order)) for order in permutations(range(rows), columns))
    assert sum(weights[i][j] for i, j in pairs) == best and len(pairs) == min(rows, columns)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)


def test_nothing_is_matched_with_nothing() -> None:
    assert best_pairs([]) == [] and best_pairs([[]]) == []


def tokens(*parts: tuple[str, dict[str, float]]) -> list[dict[str, Any]]:
    return [{"token": text, "top": [[word, math.log(p)] for word, p in top.items()]} for text, top in parts]


def test_a_grade_is_the_mean_over_what_the_judge_nearly_said() -> None:
    given_tokens = tokens(('{"score": ', {}), ("8", {"8": 0.5, "7": 0.5, "x": 0.4, "99": 0.4}), ("}", {}))
    assert weighted_score('{"score": 8}', given_tokens, 10) == pytest.approx(7.5)


@each_row(
    ("text", "parts"),
    [
        ('{"score": 8}', []),
        ('{"score": 8}', [("something else", {})]),
        ('{"score": 10}', [('{"score": ', {}), ("1", {"1": 1.0}), ("0}", {})]),
        ('{"other": 8}', [('{"other": 8}', {"8": 1.0})]),
        ("no JSON", [("no JSON", {})]),
    ],
)
def test_a_grade_without_exactly_one_token_is_not_weighted(text: str, parts: list[Any]) -> None:
    assert weighted_score(text, tokens(*parts), 10) is None


def test_digits_of_the_reason_are_not_the_grade() -> None:
    text = '{"reason": "score 3 of 5: {\\"score\\": 1}", "score": 8}'
    position = value_position(text, "score")
    assert position is not None and text[slice(*position)] == "8"


@each_row(("useful", "value"), [([], 0.0), ([False], 0.0), ([True, False], 1.0), ([False, True], 0.5)])
def test_average_precision_rewards_useful_contexts_in_front(useful: list[bool], value: float) -> None:
    assert average_precision(useful) == value


@each_row(
    ("text", "expected"),
    [
        ("Don't panic!", ["don't", "panic"]),
        ("3.5 of 1,000", ["3.5", "of", "1,000"]),
        ("日本 go", ["日", "本", "go"]),
        ("ﬁne ÉTÉ", ["fine", "été"]),
        ("...", []),
    ],
)
def test_words_of_any_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected
    assert f_score(0, 0, 0) == 0.0 and f_score(2, 2, 4) == pytest.approx(2 / 3)


QUESTION = verdict_question("t", {}, "p", 2, ("yes", "no"))


def verdicts(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"verdicts": [{"id": number, "reason": "r", "verdict": verdict} for number, verdict in pairs]}


@each_row(
    ("data", "problem"),
    [
        (verdicts((1, "yes"), (2, "no")), None),
        (verdicts((2, "no"), (1, "yes")), None),
        (verdicts((1, "yes")), "each of the ids 1, 2 exactly once; got 1"),
        (verdicts((1, "yes"), (1, "no")), "exactly once"),
        (verdicts((1, "yes"), (3, "no")), "one of 1, 2"),
        (verdicts((1, "maybe"), (2, "no")), "one of yes, no"),
        (verdicts((True, "yes"), (2, "no")), "of type integer"),
        ({"verdicts": {}}, "of type array"),
        ({}, "lacks 'verdicts'"),
        ([], "of type object"),
    ],
)
def test_an_answer_that_does_not_fit_its_question_says_why(data: Any, problem: str | None) -> None:
    said = problem_with(QUESTION, data)
    assert said is None if problem is None else said is not None and problem in said


def judged(answer: JudgeAnswer) -> Measurement:
    class Fixed:
        identity = "fixed"

        async def ask(self, question: Question) -> JudgeAnswer:
            return answer

    case = a_case(input="q", assertions=({"must": "say it"}, {"must": "say more"}))
    return asyncio.run(measure(make_metric("assertions"), case, Attempt(case_id=case.id, output="a"), Fixed()))


def test_a_judge_that_broke_is_an_error_and_one_without_an_answer_is_not() -> None:
    broken = judged(JudgeAnswer(reason="unreachable", details={"broken": True, "latency_ms": 5.0}))
    assert broken.state is MeasurementState.ERROR and broken.details["judge_ms"] == 5.0
    silent = judged(JudgeAnswer(data=verdicts((1, "true")), usage=Usage(input_tokens=3)))
    assert silent.state is MeasurementState.UNSCORED and silent.usage.input_tokens == 3
    assert "exactly once" in (silent.reason or "")
    turned = judged(JudgeAnswer(data=verdicts((2, "false"), (1, "true"))))
    assert turned.value == 0.5 and turned.reason == "not fulfilled: must: say more (r)"


@each_row(
    ("complaint", "left_out"),
    [
        ("unknown parameter: response_format", "schema"),
        ("temperature is not supported", "temperature"),
        ("Logprobs are not available", "logprobs"),
        ("something is wrong", "logprobs"),
    ],
)
def test_what_an_endpoint_names_is_dropped_first(complaint: str, left_out: str) -> None:
    wanting = list_question("t", {}, "p", "k", {}).model_copy(update={"wants_logprobs": True})
    assert reduce_abilities(EVERYTHING, wanting, complaint) == EVERYTHING - {left_out}


def test_an_endpoint_that_refuses_everything_is_asked_in_plain_words_and_then_given_up() -> None:
    question = list_question("t", {}, "p", "k", {})
    abilities: frozenset[str] | None = EVERYTHING
    shapes = []
    while abilities is not None:
        shapes.append(set(request_options(question, abilities)))
        abilities = reduce_abilities(abilities, question, "no")
    assert shapes == [
        {"temperature", "response_format"},
        {"temperature", "tools", "tool_choice"},
        {"temperature"},
        set(),
    ]


def asked(*replies: Reply) -> tuple[JudgeAnswer, list[Any]]:
    sent: list[Any] = []

    class Scripted(OpenAIJudge):
        async def _reply(self, messages: Any, question: Question) -> Reply:
            sent.append(list(messages))
            return replies[len(sent) - 1]

    return asyncio.run(Scripted(Endpoint("j", "http://127.0.0.1:9/v1", "k")).ask(QUESTION)), sent


GOOD = '{"verdicts": [{"id": 1, "reason": "r", "verdict": "yes"}, {"id": 2, "reason": "r", "verdict": "no"}]}'


def test_an_answer_that_does_not_fit_is_repaired_once_and_both_calls_are_paid() -> None:
    paid = Usage(input_tokens=5)
    answer, sent = asked(Reply(text="no", usage=paid), Reply(text=GOOD, usage=paid))
    assert answer.data is not None and answer.usage.input_tokens == 10 and answer.details["repaired"]
    assert "it is not one JSON object" in sent[1][-1]["content"] and sent[1][-2]["content"] == "no"
    worse, _ = asked(Reply(text="no"), Reply(text="{}"))
    assert worse.data is None and "after one repair" in (worse.reason or "")


def test_a_refusal_is_not_asked_again() -> None:
    answer, sent = asked(Reply(text="", final="the judge refused: no", broken=True))
    assert (answer.reason, len(sent), answer.details["broken"]) == ("the judge refused: no", 1, True)


def completion_with(finish_reason: str, **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish_reason}]}


@each_row(
    ("completion", "final"),
    [
        ("<html>", "gave no chat completion but '<html>'"),
        ({}, "gave no chat completion"),
        ({"choices": []}, "gave no chat completion"),
        ({"choices": [{"message": None}]}, "gave no chat completion"),
        (completion_with("stop", refusal="no", content=None), "the judge refused: no"),
        (completion_with("content_filter", content="x"), "content filter"),
        (completion_with("length", content="x"), "cut off at its token limit"),
        (completion_with("stop", content="x"), None),
    ],
)
def test_a_completion_is_text_or_a_final_reason(completion: Any, final: str | None) -> None:
    reply = read_reply(completion)
    assert reply.final is None if final is None else final in (reply.final or "")


@each_row(
    ("reply", "output", "error"),
    [
        ("text", "text", None),
        ({"output": "text", "usage": {"input_tokens": 3}}, "text", None),
        ({"output": None}, "", "no text and no tool call"),
        ({"error": "broke"}, "", "broke"),
        ({"answer": "text"}, "", "unknown field 'answer'"),
        ({"output": 5}, "", "output"),
        (5, "", "expected text or a mapping, got int"),
        ("x" * (MAX_OUTPUT + 1), "", "characters; at most"),
        ("half \ud83d", "half �", None),
    ],
)
def test_a_reply_of_a_users_own_program(reply: Any, output: str, error: str | None) -> None:
    attempt = read_answer(a_case(), 0, reply)
    assert attempt.output == output and (
        error is None if attempt.error is None else error is not None and error in attempt.error
    )


@each_row(
    ("body", "output"),
    [
        (b'"quoted"', "quoted"),
        (b'{"output": "x"}', "x"),
        (b"plain\n", "plain"),
        (b"42", "42"),
        (b"[1]", "[1]"),
        (b"\xff", "�"),
    ],
)
def test_bytes_are_json_where_they_are_a_text_or_an_object(body: bytes, output: str) -> None:
    assert read_text_answer(a_case(), 0, body).output == output


def test_a_slot_shows_the_measurement_under_way_to_another_reader() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(Slot.SIZE)
        writer, reader = Slot(file.fileno()), Slot(file.fileno())
        assert reader.read() == (0, None)
        writer.show(MetricCall("case", 1, "exact_match"))
        assert reader.read() == (1, MetricCall("case", 1, "exact_match"))
        writer.show()
        assert reader.read() == (2, None)
        writer.show(MetricCall("x" * Slot.SIZE, 0, "m"))
        assert reader.read() == (3, None)


def test_a_metric_that_runs_out_of_time_is_interrupted_and_then_left_out() -> None:
    limit = MetricLimit(0.02)
    for _ in range(MOST_OVERRUNS):
        with pytest.raises(Overrun, match="took over"), limit.interrupt_late(MetricCall("c", 0, "slow")):
            while True:
                pass
    with pytest.raises(Overrun, match="not measured: slow"), limit.interrupt_late(MetricCall("c", 0, "slow")):
        raise AssertionError("it is not tried again")
    with limit.interrupt_late(MetricCall("c", 0, "quick")):
        pass


def test_a_holder_is_dead_only_where_that_is_certain() -> None:
    mine = new_owner()
    machine, pid, _, _ = mine.rsplit("/", 3)
    assert not is_dead(mine) and is_dead(f"{machine}/{pid}/1/x") and is_dead(f"{machine}/999999999/5/x")
    assert not is_dead(f"elsewhere/{pid}/1/x") and not is_dead("a name of another kind")


@each_row(
    ("text", "expected"),
    [
        ("exact_match", ("exact_match", {})),
        ("length:most=5,unit=words", ("length", {"most": 5, "unit": "words"})),
        ('contains:{"text": "a,b"}', ("contains", {"text": "a,b"})),
        ("regex:pattern=^x$", ("regex", {"pattern": "^x$"})),
    ],
)
def test_a_metric_is_named_with_its_parameters(text: str, expected: tuple[str, dict[str, Any]]) -> None:
    assert parse_metric(text) == expected


@each_row(
    "text",
    [
        "length:most",
        "length:=5",
        "contains:{broken",
        "length:most=five",
        "length:unit=miles",
        "exact_match:x=1",
        "nothing",
    ],
)
def test_a_metric_that_cannot_be_made_is_refused_before_a_run(text: str) -> None:
    with pytest.raises(Exception, match=r"metric|nothing"):
        make_metric(text)


class Broken:
    version: ClassVar[str] = "1"

    def __init__(self, result: Any) -> None:
        self.result = result

    def measure(self, case: Any, attempt: Any) -> Measurement:
        if isinstance(self.result, Exception):
            raise self.result
        return Measurement.of(self.result)


@each_row("result", [math.nan, math.inf, RuntimeError("boom"), BadInput("wrong")])
def test_a_metric_that_breaks_is_an_error_with_its_reason(result: Any) -> None:
    made = asyncio.run(measure(Broken(result), a_case(), an_attempt()))
    assert made.state is MeasurementState.ERROR and made.value is None and made.reason


def test_a_failed_attempt_is_not_measured() -> None:
    made = asyncio.run(measure(Broken(1.0), a_case(), an_attempt(error="timeout")))
    assert made.value == 0.0
    assert make_metrics(["length:most=5"])[0].spec(None).params["most"] == 5 and object_schema({"a": {}})[
        "required"
    ] == ["a"]


@each_row(
    ("judge", "members"),
    [
        ("offline", [("offline", "")]),
        ("openai/gpt-4o", [("openai", "gpt-4o")]),
        ("panel:openai/a, offline", [("openai", "a"), ("offline", "")]),
    ],
)
def test_the_members_of_a_panel_are_paid_one_by_one(judge: str, members: list[tuple[str, str]]) -> None:
    assert _members(judge) == members


@each_row("model", ["", "nobody/x", "gpt-4o", "openai/", "openai", "http:", "x y"])
def test_a_model_that_nobody_answers_for_is_refused(model: str) -> None:
    with pytest.raises(BadInput):
        parse_name(model)


def test_a_program_is_never_taken_from_a_client() -> None:
    for model in ("command:rm", "python:os:system", "http://localhost/x", "retriever:bm25"):
        with pytest.raises(Refused, match="only taken from the command line"):
            refuse_remote(model)
    refuse_remote("recorded")


MESSAGES = (
    {"role": "system", "content": "s"},
    {"role": "user", "content": "My name is Ada and I was born in 1815. Book a room."},
    {"role": "assistant", "content": "Which?"},
    {"role": "user", "content": "Room 12 in Lima, please. Thanks"},
)
TURN = ({"role": "assistant", "content": "Done."},)
CASE = a_case(messages=MESSAGES, turn=TURN, output="Done.", expected="Booked.")


def test_each_turn_is_a_case_with_the_true_history_before_it() -> None:
    first, last = each_turn(CASE)
    assert (first.id, len(first.messages), first.output, first.expected) == ("c1#turn-1", 2, "Which?", None)
    assert (last.id, len(last.messages), last.output, last.expected) == ("c1#turn-2", 4, "Done.", "Booked.")
    assert conversation_id(last.id) == "c1" and conversation_id("plain") == "plain"
    assert each_turn(a_case(messages=())) == [a_case(messages=())]


def test_where_a_replay_begins_and_what_the_user_says_next() -> None:
    assert len(opening_messages(CASE, Turns.LAST)) == 4 and len(opening_messages(CASE, Turns.ALL)) == 2
    alone = opening_messages(a_case(messages=({"role": "system", "content": "s"},)), Turns.ALL)
    assert alone[-1] == {"role": "user", "content": "What is the capital of Peru?"}
    play = Play(CASE, Replay(turns=Turns.ALL))
    assert play.next_user_message([]) == MESSAGES[3]
    assert play.next_user_message([dict(MESSAGES[3])]) is None
    assert Play(CASE, Replay(turns=Turns.LAST)).next_user_message([]) is None


def test_why_a_case_cannot_be_replayed() -> None:
    assert list(obstacles(CASE)) == [] and list(obstacles(a_case())) == ["it holds no conversation"]
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}
    assert list(obstacles(a_case(messages=({"role": "user", "content": "q"}, call)))) == ["a call of f has no result"]
    assert list(obstacles(a_case(messages=({"role": "user", "content": "q"},)))) == [
        "nothing of the assistant is recorded"
    ]


def test_a_replay_that_follows_its_record_sends_everything_before_each_answer() -> None:
    last, every = requests_of(CASE, Replay(turns=Turns.LAST)), requests_of(CASE, Replay(turns=Turns.EACH))
    assert (last.calls, every.calls) == (1, 2) and every.sent > last.sent > 0 and last.answered == len("Done.")


@each_row(
    ("one", "other", "near"),
    [
        ({"a": "X  y"}, {"a": "x y"}, True),
        ({"a": 1200.50}, {"a": "1,200.5"}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": "007"}, {"a": 7}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": "é"}, {"a": "e\u0301"}, True),
        ({"a": -0.0}, {"a": 0}, True),
        ({"a": [1]}, {"a": 1}, False),
    ],
)
def test_arguments_are_near_where_only_their_writing_differs(
    one: dict[str, Any], other: dict[str, Any], near: bool
) -> None:
    assert (loose_key(one) == loose_key(other)) is near


def test_a_user_is_drafted_from_their_own_words() -> None:
    draft = draft_by_rule(CASE)
    assert (
        draft is not None and draft.goal.startswith("My name is Ada") and "- Room 12 in Lima, please." in draft.persona
    )
    assert draft_by_rule(a_case(input=" ")) is None


def test_gold_of_a_row_in_its_three_tiers() -> None:
    entries = [
        {"path": "a.py", "startLine": 1, "endLine": 3, "sources": ["golden_diff"]},
        {"path": "a.py", "startLine": 4, "endLine": 5, "sources": ["golden_diff"]},
        {"path": "a.py", "startLine": 20, "endLine": 21, "sources": ["tool_call_result"]},
        {"path": "b.go", "startLine": 1, "endLine": 1, "sources": ["tool_call_result"]},
        {"path": "c.py", "startLine": 1, "endLine": 1, "tier": "core"},
        {"path": "new.py", "startLine": 1, "endLine": 1, "sources": ["golden_diff"], "atBase": False},
    ]
    gold = gold_of_row({"caseId": "c", "lineRanges": entries})
    assert gold.edited.lines == {"a.py": [(1, 5)]} and set(gold.core.lines) == {"a.py", "c.py"}
    assert gold.optional.files == ("b.go",) and (language_of(gold), files_band(gold)) == ("Python", "1")


def test_symbols_of_lines_are_the_innermost() -> None:
    source = b"import x\n@deco\ndef f():\n    def g():\n        pass\n    return g\nclass C:\n    y = 1\n"
    assert line_symbols(source) == ("", "f", "f", "f.g", "f.g", "f", "C", "C", "")
    assert line_symbols(b"def broken(:\n") is None


def test_words_of_identifiers_are_taken_apart_and_hits_become_ranges() -> None:
    assert words_of("Fix parseHTTPResponse in my_module2") == ["parse", "httpresponse", "my", "module2"]
    ranges = _widen_hits({"f": {1, 9, 40}})
    assert [(one.start, one.end) for one in ranges] == [(1, 14), (35, 45)]
