"""Searches: words and pieces, and which hit is the best."""

import re

from hypothesis import given
from hypothesis import strategies as st

from evergold.store.text_index import RUN, indexed_words, parts_of
from evergold.store.trace.search import SearchTerms, best_first, words_of
from tests.rows import each_row


@each_row(
    ("search", "words", "pieces"),
    [
        ("", (), ()),
        ("lost luggage", ("lost", "luggage"), ()),
        ('"exact" OR NOT (near*)', ("exact", "or", "not", "near"), ()),
        ("e-mail a_b", ("e", "mail", "a", "b"), ()),
        ("返金 please", ("please",), ("返金",)),
        ("ord返er", ("ord", "er"), ("返",)),
        ("Médano ÉCOLE", ("medano", "ecole"), ()),
        ("--- ***", (), ()),
    ],
)
def test_a_search_is_words_and_pieces(search: str, words: tuple[str, ...], pieces: tuple[str, ...]) -> None:
    assert SearchTerms.of(search) == (words, pieces)
    assert words_of(search) == [*words, *pieces]


@given(st.text(max_size=30))
def test_no_word_of_a_search_holds_an_operator(search: str) -> None:
    assert all(re.fullmatch(r"[^\W_]+", word) for word in SearchTerms.of(search).words)


@each_row(("run", "parts"), [("返", ["返"]), ("返金", ["返金"]), ("返金をす", ["返金を", "金をす"])])
def test_parts_of_a_run(run: str, parts: list[str]) -> None:
    assert parts_of(run) == parts


@given(st.text(alphabet="返金をsabc ", max_size=12))
def test_every_part_of_a_part_is_indexed_with_the_whole(text: str) -> None:
    for run in RUN.findall(text):
        assert set(parts_of(run[1:] or run)) <= set(indexed_words([run]))


def test_the_best_match_comes_first_and_the_newer_of_equals() -> None:
    asked = SearchTerms.of("refund")
    texts = {
        1: ("", "where is my refund", ""),
        2: ("refund", "where is my refund", ""),
        3: ("", "x " * 3000, "refund"),
        4: ("", "where is my refund", ""),
        5: ("", "refunded", ""),
    }
    assert best_first(list(texts.items()), asked, newest_first=[5, 4, 3, 2, 1]) == [2, 4, 1, 3, 5]


def test_pieces_match_inside_words_and_words_only_whole() -> None:
    rows = [(1, ("", "返金をお願いします", "")), (2, ("", "別の話", ""))]
    assert best_first(rows, SearchTerms.of("返金"), newest_first=[2, 1]) == [1, 2]
