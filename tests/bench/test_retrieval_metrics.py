"""Retrieval metrics of a run, through the door every metric comes through."""

from typing import cast

import pytest

from evergold.bench.metrics import make_metric
from evergold.errors import BadInput
from evergold.model.case import Case, CaseKind, LineRange, RankedPath
from evergold.model.run import Attempt, Measurement
from evergold.seams import Metric
from tests.rows import each_row

CASE = Case(
    id="c",
    kind=CaseKind.CONTEXT,
    input="Fix it",
    paths=(RankedPath(path="a.py", sources=("review_merge_diff",)),),
    ranges=(
        LineRange(path="a.py", start=1, end=10, sources=("golden_diff",)),
        LineRange(path="b.py", start=1, end=5, sources=("tool_call_result",)),
    ),
)
FOUND = Attempt(case_id="c", ranges=(LineRange(path="x.py", start=1, end=5), LineRange(path="a.py", start=6, end=10)))


def measured(name: str, case: Case = CASE, attempt: Attempt = FOUND) -> Measurement:
    return cast(Metric, make_metric(name)).measure(case, attempt)


@each_row(
    ("name", "value"),
    [
        ("line_recall", 0.5),
        ("line_precision", 0.5),
        ("line_f1", 0.5),
        ("line_recall:tier=all", 1 / 3),
        ("file_recall", 1.0),
        ("file_precision", 0.5),
        ("file_hit:k=1", 0.0),
        ("file_hit", 1.0),
        ("file_acc:k=3", 1.0),
        ("file_mrr", 0.5),
        ("line_budget:lines=100", 0.5),
    ],
)
def test_figures(name: str, value: float) -> None:
    assert measured(name).value == pytest.approx(value)


def test_what_cannot_be_scored_says_why() -> None:
    nothing = Attempt(case_id="c")
    assert measured("line_recall", attempt=nothing).value == 0.0
    assert measured("line_precision", attempt=nothing).reason == "nothing was predicted, so there is no precision"
    without = CASE.model_copy(update={"ranges": ()})
    assert measured("line_recall", without).reason == "the case has no golden lines"
    assert measured("line_budget", without).value is None
    assert measured("file_recall", without).value == 1.0
    with pytest.raises(BadInput, match="valid: 1, 10, 3, 5"):
        make_metric("file_hit:k=7")
