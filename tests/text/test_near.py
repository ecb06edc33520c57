"""Texts that are nearly the same: what is alike is proposed, and measured exactly."""

from hypothesis import given
from hypothesis import strategies as st

from evergold.text.likeness import NearIndex, jaccard, normalise, shingles_of
from tests.rows import each_row

LONG = "the quick brown fox jumps over the lazy dog and runs back to its den in the dark green wood by the river"


def test_a_copy_with_another_end_is_alike_and_another_text_is_not() -> None:
    index = NearIndex()
    index.add("first", shingles_of(LONG))
    index.add("other", shingles_of("a text with words of its own that nobody has written down here before now"))
    ((name, share),) = index.find_similar(shingles_of(f"{LONG} today"))
    assert name == "first" and 0.9 < share < 1.0


def test_below_the_threshold_nothing_is_alike() -> None:
    half = " ".join(LONG.split()[:11])
    index = NearIndex()
    index.add("first", shingles_of(LONG))
    assert list(index.find_similar(shingles_of(half))) == []


def test_a_short_text_is_never_alike() -> None:
    index = NearIndex()
    index.add("thanks", shingles_of("thanks a lot"))
    assert shingles_of("thanks a lot") == frozenset()
    assert list(index.find_similar(shingles_of("thanks a lot"))) == []
    assert list(index.find_similar(frozenset())) == []


@each_row(
    ("one", "other"),
    [("What is Lima?", "what is LIMA"), ("a-b", "a b"), ("Straße", "STRASSE"), (" x ", "x")],
)
def test_case_and_punctuation_make_no_difference(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=15).map(" ".join)


@given(WORDS, WORDS)
def test_the_share_is_the_same_from_both_sides_and_one_only_for_equal_sets(one: str, other: str) -> None:
    first, second = shingles_of(one), shingles_of(other)
    assert jaccard(first, second) == jaccard(second, first)
    assert (jaccard(first, second) == 1.0) == (first == second and bool(first))


@given(WORDS)
def test_an_index_finds_the_very_text_that_was_added(text: str) -> None:
    index = NearIndex()
    index.add("it", shingles_of(text))
    expected = [("it", 1.0)] if shingles_of(text) else []
    assert list(index.find_similar(shingles_of(text))) == expected
