"""The nouns' own rules."""

from importlib import import_module

import pytest
from pydantic import ValidationError

from evergold.errors import Incomplete
from evergold.model.case import Case, CaseKind, LineRange, RankedPath, ReviewState
from evergold.model.run import Measurement, MeasurementState, Usage
from evergold.model.trace import Score
from evergold.model.values import content_hash, unit_interval
from evergold.store.run.attempts import total_usage
from tests.rows import each_row


def test_a_verdict_makes_no_new_identity() -> None:
    case = Case(id="c1", input="hi", output="hello")
    assert case.as_validated().rev() == case.rev()
    assert case.model_copy(update={"output": "bye"}).rev() != case.rev()


@each_row(
    ("case", "lacking"),
    [
        (Case(id="c", input=" "), ("input", "expected")),
        (Case(id="c", kind=CaseKind.QA, input="q"), ("expected",)),
        (Case(id="c", kind=CaseKind.CONTEXT, input="q", paths=(RankedPath(path="a.py"),)), ("base_commit",)),
        (Case(id="c", kind=CaseKind.TASK, name="n", input="q", expected="a"), ()),
    ],
)
def test_each_kind_knows_what_it_lacks(case: Case, lacking: tuple[str, ...]) -> None:
    assert case.list_missing() == lacking
    if lacking:
        with pytest.raises(Incomplete, match=lacking[0]):
            case.as_validated()
    else:
        assert case.as_validated().review is ReviewState.VALIDATED


def test_a_range_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ValidationError, match="before startLine"):
        LineRange(path="a.py", start=9, end=3)


@each_row("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_score_outside_the_unit_interval_is_refused(value: float) -> None:
    with pytest.raises(ValidationError):
        Score(name="x", value=value)


def test_could_not_judge_is_never_zero() -> None:
    assert Measurement.unscored("no contexts").value is None
    with pytest.raises(ValidationError):
        Measurement(state=MeasurementState.UNSCORED, value=0.0)


def test_an_unknown_price_is_not_free() -> None:
    assert Usage(input_tokens=1).plus(Usage(output_tokens=2)).cost is None
    assert Usage(cost=1.0).plus(Usage()).cost == 1.0


def test_part_of_a_bill_is_not_the_bill() -> None:
    priced, unpriced = Usage(input_tokens=1, cost=1.0), Usage(output_tokens=2)
    assert priced.plus(unpriced).cost is None and unpriced.plus(priced).plus(priced).cost is None
    assert total_usage([priced, Usage(), priced]) == Usage(input_tokens=2, cost=2.0)
    assert total_usage([priced, unpriced, priced]) == Usage(input_tokens=2, output_tokens=2, cost=None)


def test_hashes_ignore_key_order_and_sampling_is_stable() -> None:
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    draws = [unit_interval(f"t{i}") for i in range(10_000)]
    assert draws == [unit_interval(f"t{i}") for i in range(10_000)]
    assert 0.48 < sum(draws) / len(draws) < 0.52


def test_the_longest_trace_id_still_names_a_case() -> None:
    assert Case(id="default:" + "t" * 512, input="x").id.startswith("default:")


def test_plugins_may_import_modules_by_their_former_names() -> None:
    former, now = import_module("evergold.model.checking"), import_module("evergold.model.check")
    assert former.CheckResult is now.CheckResult
    assert import_module("evergold.model.judging").Question is import_module("evergold.model.judge").Question
    with pytest.raises(AttributeError):
        assert former.nothing_of_the_kind
