"""Charts and tables of a report: what is drawn agrees with the numbers, and odd numbers do not break the page."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.model.report import Mean
from evergold.report.documents import as_rows, compare_rows
from evergold.report.html import BUDGET_WIDTH, HEIGHT, LEFT, TOP, as_html, budget_chart, histogram_chart, interval_chart

NAME = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=40)
BOUND = st.one_of(st.none(), st.floats(-0.5, 1.5))


def a_mean(metric: str = "m", value: float | None = 0.5, low: float | None = 0.4, high: float | None = 0.6) -> Mean:
    return Mean(metric=metric, value=value, low=low, high=high, n=10, of=10)


def bounds(value: float | None, low: float | None = None, high: float | None = None, n: int = 5) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "n": n}


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def numbers(svg: str, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf'\b{name}="([-\d.]+)"', svg)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(NAME, BOUND, BOUND, BOUND), max_size=6))
def test_an_interval_chart_is_xml_and_stays_inside_its_frame(
    rows: list[tuple[str, float | None, float | None, float | None]],
) -> None:
    svg = interval_chart([a_mean(*row) for row in rows])
    assert drawn(svg).get("role") == "img"
    assert all(200 <= x <= 580 for x in numbers(svg, "cx"))
    assert len(numbers(svg, "cx")) == sum(row[1] is not None for row in rows)


def test_a_metric_without_a_value_says_so() -> None:
    svg = interval_chart([a_mean(value=None, low=None, high=None)])
    assert "no score" in svg and "<circle" not in svg


def test_names_are_text_in_a_chart() -> None:
    svg = interval_chart([a_mean("<b>&")])
    assert "&lt;b&gt;&amp;" in svg and "<b>" not in svg
    assert drawn(histogram_chart([1], '"quoted" <x>')).get("aria-label") == 'Distribution of "quoted" <x>'


def test_bars_are_as_tall_as_their_share_of_the_largest() -> None:
    svg = histogram_chart([0, 5, 10], "m")
    heights = [float(bar.get("height", "")) for bar in drawn(svg).iter() if bar.tag.endswith("rect")]
    assert heights == [0.0, 31.0, 62.0]
    assert "0.1–0.2: 5" in svg


def test_an_empty_histogram_has_flat_bars() -> None:
    assert numbers(histogram_chart([0] * 10, "m"), "height")[1:] == [0.0] * 10


def test_the_curve_of_a_budget_begins_at_nothing_and_ends_at_its_last_limit() -> None:
    page = budget_chart({"50": bounds(0.4, 0.3, 0.5), "100": bounds(0.8, 0.7, 0.9), "area": bounds(0.6)})
    curve = re.search(r'class="curve" points="([^"]+)"', page)
    assert curve is not None
    points = [tuple(map(float, point.split(","))) for point in curve[1].split()]
    assert points[0] == (LEFT, TOP + HEIGHT)
    assert points[-1] == pytest.approx((LEFT + BUDGET_WIDTH, TOP + 0.2 * HEIGHT))
    assert "100 lines: 0.800 (0.700 to 0.900)" in page


def test_a_budget_without_bounds_has_no_band() -> None:
    page = budget_chart({"50": bounds(0.4), "100": bounds(0.8)})
    assert 'class="band"' not in page and "100 lines: 0.800</title>" in page


FIGURES: dict[str, Any] = {
    "n": 4,
    "abstained": 1,
    "missing": 2,
    "not_applicable": 0,
    "extra": 3,
    "duplicates": ["a"],
    "note": "a <note>",
    "problems": ["row 3: <broken>"],
    "line": {"macro": {"recall": bounds(0.5, 0.25, 0.75), "precision": bounds(None)}, "map": bounds(0.125)},
    "file": {"micro": {"recall": bounds(1, n=4)}},
    "symbol": {"macro": {"recall": bounds(0.2)}},
    "budget": {"50": bounds(0.4, 0.3, 0.5), "area": bounds(0.4)},
    "tokens": {"1000": bounds(0.7)},
    "noise": bounds(0.1),
    "slices": {"repository": {"x": {"n": 3, "r": 0.5, "p": None, "f": 1.0}, "y": {"n": 1, "r": 0.1, "p": 0.2, "f": 0}}},
}


def test_rows_name_level_figure_value_and_interval_and_leave_out_what_has_none() -> None:
    assert as_rows(FIGURES) == [
        ("line", "macro recall", "0.500", "0.250 to 0.750"),
        ("line", "map", "0.125", ""),
        ("file", "micro recall", "1", ""),
        ("line", "recall within 50 lines", "0.400", "0.300 to 0.500"),
        ("line", "area under recall by budget", "0.400", ""),
        ("line", "recall within 1000 tokens", "0.700", ""),
        ("symbol", "macro recall", "0.200", ""),
        ("line", "noise rate", "0.100", ""),
    ]


def test_differences_carry_their_sign_and_their_number() -> None:
    compared = {"line recall": bounds(0.05, -0.01, 0.11, n=9), "noise": bounds(-0.5, n=9), "map": bounds(None)}
    assert compare_rows({"compare": compared}) == [
        ("line recall", "+0.050", "-0.010 to 0.110", "9"),
        ("noise", "-0.500", "", "9"),
    ]


def test_the_page_shows_counts_slices_and_problems_as_text() -> None:
    page = as_html(FIGURES, "golden <set>.jsonl", "run & co")
    for part in (
        "Retrieval: run &amp; co",
        "4 cases of golden &lt;set&gt;.jsonl scored; 1 abstained, 2 missing, 0 not applicable, 3 extra, 1 duplicate.",
        "a &lt;note&gt;",
        "row 3: &lt;broken&gt;",
        "<h2>By repository</h2>",
        "<td>x</td><td class=number>3</td><td class=number>0.500</td>",
    ):
        assert part in page
    assert "Second minus first" not in page


def test_a_slice_of_one_part_and_no_problem_are_left_out_of_the_page() -> None:
    alone = {**FIGURES, "slices": {"repository": {"x": {"n": 4}}}, "problems": [], "budget": None}
    page = as_html({**alone, "compare": {"line recall": bounds(0.1)}}, "g", "p")
    assert "By repository" not in page and "Problems" not in page and "<svg" not in page
    assert "Second minus first" in page
