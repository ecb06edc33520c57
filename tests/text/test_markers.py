"""Citation markers in texts."""

from hypothesis import given
from hypothesis import strategies as st

from evergold.text.markers import cited_sentences, is_claim, marker_spans, markers, without_markers
from tests.rows import each_row


@each_row(
    ("text", "numbers"),
    [
        ("Lima is the capital [1].", [1]),
        ("Both [1, 4] and [2;3] [1]", [1, 4, 2, 3, 1]),
        ("[ 7 ]", [7]),
        ("no marker", []),
        ("[a] [1a] [] [1,] [,1]", []),
        ("[1234567]", []),
        ("x[0]", [0]),
        ("[[3]]", [3]),
    ],
)
def test_every_number_cited_is_read_in_order(text: str, numbers: list[int]) -> None:
    assert markers(text) == numbers


def test_a_marker_says_where_it_stands() -> None:
    text = "Lima [1, 2] is."
    ((start, end, numbers),) = marker_spans(text)
    assert (text[start:end], numbers) == ("[1, 2]", (1, 2))


@each_row(
    ("text", "plain"),
    [
        ("Lima [1].", "Lima."),
        ("Lima  [1] [2] is", "Lima is"),
        ("[1] Lima", " Lima"),
        ("a\n[1]", "a\n"),
        ("a [b]", "a [b]"),
    ],
)
def test_without_markers_the_text_reads_as_if_nothing_was_cited(text: str, plain: str) -> None:
    assert without_markers(text) == plain


@given(st.lists(st.sampled_from(["Lima", " ", "[1]", "[2, 3]", ".", "\n", "[x]"]), max_size=12).map("".join))
def test_no_marker_is_left_over(text: str) -> None:
    assert markers(without_markers(text)) == [] or "[[" in text or "][" in text


def test_a_marker_behind_the_full_stop_belongs_to_the_sentence_before_it() -> None:
    assert cited_sentences("Lima is large. [1] It is old. [2][3]") == ["Lima is large [1].", "It is old [2][3]."]


@each_row(
    ("part", "claims"),
    [
        ("Lima is large [1].", True),
        ("Hello there [1]", False),
        ("Sources [1] [2] [3] [4]", False),
        ("These are the reasons:", False),
        ("", False),
    ],
)
def test_a_heading_or_a_greeting_claims_nothing(part: str, claims: bool) -> None:
    assert is_claim(part) == claims
