"""Spans of private text: of two that overlap one is kept, and what is kept becomes a placeholder."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from evergold.redact.spans import PrivateSpan, replace_spans, without_overlaps


def span(start: int, end: int, kind: str = "EMAIL") -> PrivateSpan:
    return PrivateSpan(kind, start, end)


def test_of_two_that_overlap_the_one_of_the_earlier_group_is_kept() -> None:
    assert without_overlaps([[span(5, 9)], [span(0, 7)]]) == [span(5, 9)]
    assert without_overlaps([[span(0, 7)], [span(5, 9)]]) == [span(0, 7)]


def test_spans_that_touch_are_both_kept() -> None:
    assert without_overlaps([[span(3, 6)], [span(0, 3)]]) == [span(0, 3), span(3, 6)]


def test_one_of_an_earlier_group_removes_every_later_one_it_meets() -> None:
    low = [span(0, 3), span(3, 5), span(8, 9)]
    assert without_overlaps([[span(2, 4)], low]) == [span(2, 4), span(8, 9)]


def test_kinds_are_counted_and_the_text_between_is_kept() -> None:
    clean, counts = replace_spans("a bb c dd", [span(2, 4), span(7, 9, "PHONE")])
    assert (clean, counts) == ("a [EMAIL] c [PHONE]", {"EMAIL": 1, "PHONE": 1})


def test_nothing_private_leaves_the_text() -> None:
    assert replace_spans("plain", []) == ("plain", {})


SPANS = st.builds(lambda start, size: span(start, start + size), st.integers(0, 40), st.integers(1, 8))
GROUPS = st.lists(st.lists(SPANS, max_size=4), max_size=4)


@given(GROUPS)
def test_what_is_kept_is_in_order_and_never_overlaps(groups: list[list[PrivateSpan]]) -> None:
    kept = without_overlaps(groups)
    assert all(one.end <= following.start for one, following in pairwise(kept))
    assert set(kept) <= {one for group in groups for one in group}


@given(GROUPS)
def test_a_span_is_dropped_only_for_one_of_its_own_or_an_earlier_group(groups: list[list[PrivateSpan]]) -> None:
    first = next((group for group in groups if group), [])
    kept = without_overlaps(groups)
    apart = [
        one for one in first if all(one.end <= other.start or other.end <= one.start for other in first if other != one)
    ]
    assert set(apart) <= set(kept)


@given(GROUPS, st.text(min_size=50, max_size=60))
def test_replacing_keeps_every_character_outside(groups: list[list[PrivateSpan]], text: str) -> None:
    kept = without_overlaps(groups)
    clean, counts = replace_spans(text, kept)
    assert len(clean) == len(text) - sum(one.end - one.start - len("[EMAIL]") for one in kept)
    assert counts.total() == len(kept)
