"""Retrieval scores of one case, by hand and against plain sets of lines."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.bench.retrieval import (
    AREA_BUDGET,
    BUDGETS,
    Gold,
    GoldTier,
    files_band,
    gold_of_row,
    language_of,
    merge_by_path,
    score_case,
)
from evergold.formats.dataset_ab import Prediction

NOTHING = GoldTier({}, ())
RANGES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(1, 60), st.integers(0, 30)).map(
        lambda r: (r[0], r[1], r[1] + r[2])
    ),
    max_size=8,
)


def tier(*ranges: tuple[str, int, int]) -> GoldTier:
    return GoldTier(merge_by_path(ranges), tuple(dict.fromkeys(path for path, _, _ in ranges)))


def gold(*ranges: tuple[str, int, int], core: GoldTier = NOTHING, optional: GoldTier = NOTHING) -> Gold:
    return Gold("c", tier(*ranges), core, optional)


def lines(ranges: list[tuple[str, int, int]]) -> set[tuple[str, int]]:
    return {(path, line) for path, start, end in ranges for line in range(start, end + 1)}


def test_a_worked_example() -> None:
    score = score_case(gold(("a", 10, 19), ("b", 1, 10)), Prediction("c", (("a", 15, 24), ("x", 1, 10), ("a", 20, 24))))
    assert score.lines is not None and score.files is not None
    assert (score.lines.hit, score.lines.predicted, score.lines.golden) == (5, 20, 20)
    assert (score.lines.precision, score.lines.recall, score.lines.f(1), score.lines.iou) == (0.25, 0.25, 0.25, 5 / 35)
    assert (score.files.precision, score.files.recall) == (0.5, 0.5)
    assert score.noise == 0.75


def test_an_empty_prediction_has_recall_0_and_no_precision() -> None:
    score = score_case(gold(("a", 1, 5)), Prediction("c"))
    assert score.lines is not None and score.files is not None
    assert (score.lines.precision, score.lines.recall, score.lines.f(1), score.has_abstained, score.noise) == (
        None,
        0.0,
        0.0,
        True,
        None,
    )
    assert score.ranked["mrr"] == score.ranked["acc@10"] == 0.0


def test_a_missing_prediction_is_not_an_abstention_and_finds_nothing() -> None:
    score = score_case(gold(("a", 1, 5)), None)
    assert (score.missing, score.has_abstained) == (True, False)
    assert score.lines is not None and score.lines.recall == 0.0


def test_a_case_without_gold_is_not_applicable() -> None:
    score = score_case(gold(), Prediction("c", (("a", 1, 2),)))
    assert (score.lines, score.files, score.area) == (None, None, None)


def test_the_ideal_ranking_comes_from_the_gold() -> None:
    score = score_case(gold(("a", 1, 1), ("b", 1, 1)), Prediction("c", paths=("x", "a"), has_lines=False))
    assert score.ranked["ndcg@10"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert (score.ranked["mrr"], score.ranked["hit@1"], score.ranked["hit@3"], score.ranked["acc@3"]) == (
        0.5,
        0.0,
        1.0,
        0.0,
    )
    assert score.ranked["recall@3"] == 0.5


def test_budgets_charge_an_overlap_once_and_cut_inside_a_range() -> None:
    found = score_case(gold(("a", 91, 110)), Prediction("c", (("a", 1, 90), ("a", 1, 100), ("a", 101, 200)))).budget
    assert found[100] == 0.5 and found[300] == 1.0


def test_tiers_widen_what_must_be_found_and_what_is_noise() -> None:
    needed = gold(("a", 1, 10), core=tier(("a", 11, 20)), optional=tier(("o", 1, 10)))
    prediction = Prediction("c", (("a", 1, 20), ("o", 1, 10), ("x", 1, 10)))
    recalls = {name: score_case(needed, prediction, name).lines for name in ("edited", "core", "all")}
    assert [(found.golden, found.hit) for found in recalls.values() if found] == [(10, 10), (20, 20), (30, 30)]
    assert score_case(needed, prediction).noise == 0.25


@given(RANGES, RANGES)
def test_counts_are_those_of_plain_sets(
    wanted: list[tuple[str, int, int]], predicted: list[tuple[str, int, int]]
) -> None:
    score = score_case(gold(*wanted), Prediction("c", tuple(predicted)))
    need, got = lines(wanted), lines(predicted)
    if not need:
        assert score.lines is None
        return
    assert score.lines is not None
    assert (score.lines.hit, score.lines.predicted, score.lines.golden) == (len(need & got), len(got), len(need))
    order = list(dict.fromkeys((path, line) for path, start, end in predicted for line in range(start, end + 1)))
    for limit in BUDGETS:
        assert score.budget[limit] == len(need & set(order[:limit])) / len(need)
    recalls = [len(need & set(order[:limit])) / len(need) for limit in range(1, len(order) + 1)]
    padded = recalls + [recalls[-1] if recalls else 0.0] * (AREA_BUDGET - len(recalls))
    assert score.area == pytest.approx(sum(padded) / AREA_BUDGET)


def test_rows_become_gold_in_tiers() -> None:
    def entry(path: str, start: int, *sources: str, **more: object) -> dict[str, object]:
        return {"path": path, "startLine": start, "endLine": start + 1, "sources": list(sources), **more}

    row = {
        "caseId": "c",
        "repository": "r",
        "lineRanges": [
            entry("a.py", 1, "golden_diff"),
            entry("a.py", 9, "tool_call_result"),
            entry("b.go", 1, "tool_call_args"),
            entry("b.go", 5, "manual", tier="edited"),
        ],
    }
    found = gold_of_row(row)
    assert (found.edited.files, found.core.lines, found.optional.files) == (
        ("a.py", "b.go"),
        {"a.py": [(9, 10)], "b.go": [(1, 2)]},
        (),
    )
    assert (language_of(found), files_band(found), found.repository) == ("several", "2-3", "r")
    paths = [
        {"path": "a.py", "sources": ["review_merge_diff"]},
        {"path": "n.py", "sources": ["review_merge_diff"], "atBase": False},
    ]
    only_paths = gold_of_row({"caseId": "c", "filePaths": paths})
    assert (only_paths.edited.files, only_paths.has_lines, language_of(only_paths)) == (("a.py",), False, "Python")
