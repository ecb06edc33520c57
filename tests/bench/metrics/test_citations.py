import asyncio
from typing import Any

import pytest

from evergold.bench.metrics import make_metric, measure
from evergold.model.case import Context
from evergold.model.run import Measurement
from evergold.text.markers import markers
from tests.builders import a_case, an_attempt
from tests.rows import each_row

CONTEXTS = tuple(Context(text=text) for text in ("[1] Lima is the capital of Peru.", "[2] Bogota lies high.", None))


def measured(metric: str, output: str, contexts: tuple[Context, ...] = CONTEXTS, **more: Any) -> Measurement:
    return asyncio.run(measure(make_metric(metric), a_case(contexts=contexts, **more), an_attempt(output)))


def test_markers_are_single_or_in_one_bracket() -> None:
    assert markers("Lima [1], also [2, 3]; not [a] nor [2024-1] but [ 4 ]") == [1, 2, 3, 4]


@each_row(("output", "value"), [("Lima [1][2]", 1.0), ("Lima [1][9]", 0.5), ("Lima", 1.0), ("[0]", 0.0)])
def test_precision_is_markers_in_range_over_all_and_one_without_any(output: str, value: float) -> None:
    assert measured("citation_precision", output).value == value


def test_precision_names_the_markers_out_of_range() -> None:
    assert measured("citation_precision", "a [9] b [7]").reason == "out of range: 7, 9"


def test_recall_counts_a_context_once_and_a_lost_one_not_at_all() -> None:
    assert measured("citation_recall", "Lima [1] and again [1], lost [3]").value == 0.5
    assert measured("citation_recall", "Lima").value == 0.0
    assert measured("citation_recall", "Lima", ()).value is None


def test_coverage_is_of_the_longer_words_of_cited_contexts() -> None:
    assert measured("citation_coverage", "Lima is a capital [1]").value == pytest.approx(2 / 3)
    assert measured("citation_coverage", "Lima is a capital").value is None


def test_a_sentence_is_grounded_when_what_it_cites_says_it() -> None:
    output = "Lima is the capital of Peru. [1] Bogota has seven million inhabitants [2]. Nobody said that."
    made = measured("citation_grounded", output)
    assert made.value == pytest.approx(1 / 3)
    assert made.reason == "not grounded: Bogota has seven million inhabitants [2]."
    assert measured("citation_grounded", "?").value is None
    assert measured("citation_grounded", "Lima", ()).value is None
