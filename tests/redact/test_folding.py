"""Folding: one byte for each character, so that an index in the bytes is an index in the text."""

from hypothesis import given
from hypothesis import strategies as st

from evergold.redact.spans import (
    BLANK,
    DASH,
    EURO,
    OTHER,
    SPACED,
    UNSPACED,
    byte_pattern,
    byte_patterns,
    fold_digits,
    holds,
    matches,
)
from tests.rows import each_row


@given(st.text())
def test_every_character_keeps_its_index(text: str) -> None:
    one = fold_digits(text)
    assert len(one.data) == len(one.flat) == len(text)
    assert one.flat.encode("latin-1") == one.data
    assert all(one.flat[at] == sign for at, sign in enumerate(text) if sign.isascii())


@each_row(
    ("character", "byte"),
    [
        ("a", ord("a")),
        ("é", 0xE9),
        ("ł", SPACED),
        ("я", SPACED),
        ("ह", SPACED),
        ("用", UNSPACED),
        ("ツ", UNSPACED),
        ("ไ", UNSPACED),
        ("４", ord("4")),
        ("＠", ord("@")),
        ("٣", ord("3")),
        ("९", ord("9")),
        ("\u00a0", BLANK),
        ("\u2009", BLANK),
        ("\u3000", BLANK),
        ("–", DASH),
        ("\u2212", DASH),
        ("€", EURO),
        ("\u00ad", OTHER),
        ("😀", OTHER),
        ("\ud800", OTHER),
    ],
)
def test_a_character_folds_to_its_class(character: str, byte: int) -> None:
    assert fold_digits(character).data == bytes([byte])


def test_matches_that_are_empty_do_not_stop_the_search() -> None:
    assert [spans[0] for spans in matches(byte_pattern(rb"a*"), b"baa")] == [(0, 0), (1, 3), (3, 3)]


def test_a_group_that_took_no_part_is_minus_one() -> None:
    assert [spans[1:] for spans in matches(byte_pattern(rb"(a)|(b)"), b"ab")] == [
        [(0, 1), (-1, -1)],
        [(-1, -1), (1, 2)],
    ]


def test_a_set_gives_the_numbers_of_the_patterns_that_match() -> None:
    together = byte_patterns([b"cat", b"dog", b"d"])
    assert sorted(together.Match(b"a dog")) == [1, 2]
    assert not together.Match(b"fish")


@given(st.lists(st.sampled_from([b"a", b"b", b"ab", b" "]), max_size=12).map(b"".join))
def test_holds_says_what_a_search_would(data: bytes) -> None:
    pattern = byte_pattern(rb"ab b")
    assert holds(pattern, data) == (b"ab b" in data)
