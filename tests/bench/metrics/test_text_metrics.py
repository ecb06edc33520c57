"""The metrics that need no judge, each against its definition; sacrebleu is the oracle where it knows one."""

import asyncio
import math
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold import plugins
from evergold.bench.metrics import make_metric, make_metrics, measure, parse_metric
from evergold.errors import BadInput, EvergoldError, NotFound
from evergold.model.case import Case, EntryType
from evergold.model.run import Attempt, Measurement, MeasurementState
from tests.builders import a_case, an_attempt
from tests.rows import each_row


def value(metric: str, output: str, expected: str | None = "Lima", **more: Any) -> float | None:
    made = make_metric(metric)
    return asyncio.run(measure(made, a_case(expected=expected, **more), an_attempt(output))).value


@each_row(
    ("metric", "output", "expected", "score"),
    [
        ("exact_match", " Lima\n", "Lima", 1.0),
        ("exact_match", "lima", "Lima", 0.0),
        ("exact_match:ignore_case=true", "lima", "Lima", 1.0),
        ("contains", "It is LIMA, of course.", "Lima", 1.0),
        ("contains:ignore_case=false", "It is LIMA", "Lima", 0.0),
        ("contains:text=Peru", "Peru", "Lima", 1.0),
        ("regex", "It is 1234.", r"\d{4}", 1.0),
        (r'regex:{"pattern": "^\\d{1,3}$"}', "12", None, 1.0),
        ("regex:full=true", "It is 1234.", r"\d{4}", 0.0),
        ("json_match", '```json\n{"b": 1, "a": [1, 2]}\n```', '{"a": [1, 2], "b": 1.0}', 1.0),
        ("json_match", '{"a": true}', '{"a": 1}', 0.0),
        ("json_match", "not json", '{"a": 1}', 0.0),
        ("json_match:partial=true", '{"a": 1, "c": 0}', '{"a": 1, "b": 2}', 1 / 3),
        ("token_f1", "the the cat", "the cat", 0.8),
        ("token_f1", "猫が好き", "猫は好き", 0.75),
        ("rouge_l", "the cat sat", "the black cat sat", 6 / 7),
        ("rouge_l", "sat cat the", "the cat sat", 1 / 3),
        ("edit_similarity", "kitten", "sitting", 1 - 3 / 7),
        ("length:most=3", "one two three", None, 1.0),
        ("length:most=3", "one two three four", None, 0.0),
        ("length:least=2,unit=characters", "a", None, 0.0),
        ("length", "one two", "one two three four", 0.5),
    ],
)
def test_each_metric_has_its_value(metric: str, output: str, expected: str | None, score: float) -> None:
    assert value(metric, output, expected) == pytest.approx(score)


@given(st.text("ab cé", min_size=1), st.text("ab cé", min_size=1))
def test_chrf_is_that_of_sacrebleu(output: str, expected: str) -> None:
    from sacrebleu.metrics.chrf import CHRF

    if not output.strip() or not expected.strip():
        return
    theirs = CHRF().sentence_score(output, [expected]).score / 100
    assert value("chrf", output, expected) == pytest.approx(theirs, abs=1e-9)


def test_bleu_of_the_same_text_is_one_even_when_it_is_short() -> None:
    assert value("bleu", "Lima", "Lima") == pytest.approx(1.0)
    assert value("bleu", "a fish", "the cat sat on the mat") < 0.1  # type: ignore[operator]


def test_embeddings_know_that_a_car_is_nearer_to_a_vehicle_than_to_a_banana() -> None:
    near, far = value("embedding_similarity", "a car", "a vehicle"), value("embedding_similarity", "a car", "a banana")
    assert near is not None and far is not None and far < near <= 1
    assert value("embedding_similarity", "  ", "a car") == 0.0


NEEDS_EXPECTED = ["exact_match", "contains", "regex", "json_match", "token_f1", "rouge_l", "chrf", "bleu"]


@each_row("metric", [*NEEDS_EXPECTED, "edit_similarity", "embedding_similarity", "length"])
def test_without_a_reference_a_metric_is_not_applicable(metric: str) -> None:
    made = asyncio.run(measure(make_metric(metric), a_case(entry_type=EntryType.FAILURE), an_attempt()))
    assert (made.state, made.value) == (MeasurementState.NOT_APPLICABLE, None)
    assert "no reference answer" in (made.reason or "")


def test_a_recorded_golden_answer_is_marked_as_compared_with_itself() -> None:
    case, recorded = a_case(output="Lima"), an_attempt("Lima", metadata={"recorded": True})
    assert asyncio.run(measure(make_metric("exact_match"), case, recorded)).details == {"self": True}
    assert asyncio.run(measure(make_metric("exact_match"), case, an_attempt("Lima"))).details == {}
    other = case.model_copy(update={"expected": "Cusco"})
    assert asyncio.run(measure(make_metric("exact_match"), other, recorded)).details == {}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("regex", "("),
        ("json_match", "nope"),
    ],
)
def test_an_expected_answer_that_cannot_be_compared_with_is_unscored(metric: str, expected: str) -> None:
    assert value(metric, "anything", expected) is None


@each_row(
    "metric",
    [
        "regex:pattern=(",
        "regex:pattern=4",
        "length:unit=pages",
        "length:most=x",
        "exact_match:colour=red",
        "exact_match:ignore_case=perhaps",
        "tool_correctness:ordered=1",
        "contains:x",
    ],
)
def test_bad_parameters_are_refused_before_a_run(metric: str) -> None:
    with pytest.raises(BadInput):
        make_metric(metric)


def test_an_unknown_metric_names_the_nearest() -> None:
    with pytest.raises(NotFound, match="did you mean 'correctness'"):
        make_metric("corectness")


def test_parameters_are_written_short_or_as_json() -> None:
    assert parse_metric("length:least=1,unit=words") == ("length", {"least": 1, "unit": "words"})
    assert parse_metric('regex:{"pattern": "a,b"}') == ("regex", {"pattern": "a,b"})
    with pytest.raises(BadInput, match="not JSON"):
        parse_metric("regex:{nope")


def test_every_installed_metric_has_a_version_and_says_its_parameters() -> None:
    for name in plugins.names("metrics"):
        spec = make_metrics([name])[0].spec(None)
        assert spec.name == name and spec.version
    assert make_metrics(["length:most=3"])[0].spec(None).params == {"unit": "words", "least": None, "most": 3}


class Broken:
    version: ClassVar[str] = "1"

    def __init__(self, problem: Exception | float) -> None:
        self.problem = problem

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if isinstance(self.problem, Exception):
            raise self.problem
        return Measurement.of(self.problem)


@each_row("problem", [ValueError("boom"), EvergoldError("boom"), math.nan, math.inf])
def test_a_metric_that_breaks_is_an_error_and_not_a_zero(problem: Exception | float) -> None:
    made = asyncio.run(measure(Broken(problem), a_case(), an_attempt()))
    assert (made.state, made.value) == (MeasurementState.ERROR, None)


def test_a_failed_attempt_is_not_an_answer() -> None:
    made = asyncio.run(measure(make_metric("exact_match"), a_case(expected=""), an_attempt("", error="timeout")))
    assert (made.value, made.reason, made.details) == (0.0, "no reply: timeout", {"attempt": "error"})
    apart = asyncio.run(measure(make_metric("exact_match"), a_case(output=None), an_attempt("", error="timeout")))
    assert apart.state is MeasurementState.NOT_APPLICABLE
